// Search in the documentation: works on a server and from a folder alike, where a browser lets no page fetch a file.
// The index is a script, search_index.js, which defines `searchIndex`: {location, title, text} of each section.
"use strict";
(function () {
  const results = document.getElementById("mkdocs-search-results");
  if (!results) return;
  const field = document.getElementById("mkdocs-search-query");
  const most = 50, around = 120;

  function scored(terms, section) {
    const title = section.title.toLowerCase(), text = section.text.toLowerCase();
    let sum = 0;
    for (const term of terms) {
      const times = text.split(term).length - 1;
      if (!times && !title.includes(term)) return 0;
      sum += Math.min(times, 5) + (title === term ? 40 : title.includes(term) ? 10 : 0);
    }
    return sum;
  }

  function excerpt(terms, given) {
    const text = given.replace(/[\u2500-\u257f\s]+/g, " ");  // tables of a terminal are no text
    const place = Math.max(0, text.toLowerCase().indexOf(terms[0]) - around);
    return (place ? "… " : "") + text.slice(place, place + 2 * around) + (text.length > place + 2 * around ? " …" : "");
  }

  function element(name, text, inner) {
    const made = document.createElement(name);
    made.textContent = text;
    if (inner) made.append(inner);
    return made;
  }

  function show() {
    const terms = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = terms.length ? searchIndex.map((section) => [scored(terms, section), section]) : [];
    const best = found.filter((one) => one[0]).sort((one, other) => other[0] - one[0]);
    const count = best.length ? `${best.length} sections` : terms.length ? "Nothing found." : "";
    results.replaceChildren(element("p", best.length > most ? `${count}, the first ${most}:` : count));
    for (const [, section] of best.slice(0, most)) {
      const link = element("a", section.title);
      link.href = new URL(section.location, new URL(base_url + "/", location.href));
      const article = element("article", "", element("h3", "", link));
      article.append(element("p", excerpt(terms, section.text)));
      results.append(article);
    }
  }

  const index = document.createElement("script");
  index.src = new URL("search/search_index.js", new URL(base_url + "/", location.href));
  index.onload = function () {
    field.value = new URLSearchParams(location.search).get("q") || "";
    field.addEventListener("input", show);
    show();
  };
  document.head.append(index);
})();
