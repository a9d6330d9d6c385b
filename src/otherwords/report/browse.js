// The list of all problems: searched, filtered and sorted in the browser. Needs no library and asks nobody anything.
// The data are columns (see browse.py): a row for each wording, the original before its variants. All texts are set as
// text, never as markup. Rows of the list have one height, so that only those in sight need to exist.
"use strict";
(() => {
  const ROW = 62; // pixels of a row of the list; page.css has the same
  const SPARE = 6; // rows beyond both edges of what is in sight
  const MOST = 100; // variants of a problem that are shown before one asks for more
  const PLAIN = 400; // words of a changed stretch above which it is not compared word by word

  const $ = (name) => document.getElementById(`browse-${name}`);
  const make = (tag, className, text) => {
    const one = document.createElement(tag);
    if (className) one.className = className;
    if (text !== undefined) one.textContent = text;
    return one;
  };
  const number = (value) => value.toLocaleString("en");
  const many = (value, noun) => `${number(value)}\u00a0${noun}${value === 1 ? "" : "s"}`;

  // Reading

  async function read(holder) {
    const packed = holder.dataset.src
      ? (await fetch(holder.dataset.src)).body
      : new Blob([decode(holder.textContent.trim())]).stream();
    const stream = packed.pipeThrough(new DecompressionStream("deflate-raw"));
    return new Response(stream).json();
  }

  function decode(base64) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
    const text = atob(base64), bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return bytes;
  }

  function prepare(data) {
    const start = new Int32Array(data.size.length + 1);
    data.size.forEach((size, place) => { start[place + 1] = start[place] + size; });
    data.start = start;
    data.how = Int16Array.from(data.how);
    for (const model of data.models) {
      model.pred = Int16Array.from(model.pred);
      model.first = Int16Array.from(model.first);
    }
    return data;
  }

  // The texts of a problem with all its wordings in small letters: made when they are searched, or nothing else is done.
  const haystacks = [];
  function haystack(data, problem) {
    if (haystacks[problem] === undefined) {
      const parts = [];
      for (let row = data.start[problem]; row < data.start[problem + 1]; row++) {
        parts.push(data.id[row]);
        for (const texts of data.texts) if (typeof texts[row] === "string") parts.push(texts[row]);
      }
      haystacks[problem] = parts.join("\n").toLowerCase();
    }
    return haystacks[problem];
  }

  function prepareSearch(data, from = 0) {
    const idle = window.requestIdleCallback || ((work) => setTimeout(work, 20));
    idle(() => {
      const to = Math.min(from + 500, data.size.length);
      for (let problem = from; problem < to; problem++) haystack(data, problem);
      if (to < data.size.length) prepareSearch(data, to);
    });
  }

  // Which problems are listed, and in which order

  // What the models of the filter answered to one problem, as far as the generator of the filter made its wordings.
  function count(data, problem, models, how) {
    const found = { share: 0, flips: 0, answers: 0, right: 0, wrong: 0, asked: 0 };
    const first = data.start[problem], end = data.start[problem + 1], gold = data.gold[problem];
    for (const model of models) {
      let flips = 0, n = 0;
      for (let row = first; row < end; row++) {
        const pred = model.pred[row];
        if (pred < 0 || (how >= 0 && row > first && data.how[row] !== how)) continue;
        found.asked += 1;
        if (gold >= 0) { if (pred === gold) found.right += 1; else found.wrong += 1; }
        if (row > first) { n += 1; if (pred !== model.first[problem]) flips += 1; }
      }
      found.flips += flips;
      found.answers += n;
      if (n) found.share = Math.max(found.share, flips / n);
    }
    return found;
  }

  const OUTCOMES = {
    flipped: (one) => one.flips > 0,
    kept: (one) => one.flips === 0 && one.answers > 0,
    right: (one) => one.right > 0 && one.wrong === 0,
    wrong: (one) => one.wrong > 0,
    never: (one) => one.wrong > 0 && one.right === 0,
  };

  const ORDERS = {
    wavering: (a, b) => b.share - a.share || b.flips - a.flips,
    flips: (a, b) => b.flips - a.flips || b.share - a.share,
    wrong: (a, b) => b.wrong / (b.asked || 1) - a.wrong / (a.asked || 1) || b.wrong - a.wrong,
    data: () => 0,
  };

  function select(data, wanted) {
    const models = wanted.model < 0 ? data.models : [data.models[wanted.model]];
    const listed = [];
    for (let problem = 0; problem < data.size.length; problem++) {
      if (wanted.label >= 0 && data.gold[problem] !== wanted.label) continue;
      if (wanted.how >= 0 && !hasHow(data, problem, wanted.how)) continue;
      if (wanted.text && !haystack(data, problem).includes(wanted.text)) continue;
      const found = count(data, problem, models, wanted.how);
      if (wanted.outcome && !OUTCOMES[wanted.outcome](found)) continue;
      if (wanted.pred >= 0 && !hasAnswer(data, problem, models, wanted)) continue;
      found.problem = problem;
      listed.push(found);
    }
    const order = ORDERS[wanted.order];
    return listed.sort((a, b) => order(a, b) || a.problem - b.problem);
  }

  function hasHow(data, problem, how) {
    for (let row = data.start[problem] + 1; row < data.start[problem + 1]; row++) if (data.how[row] === how) return true;
    return false;
  }

  function hasAnswer(data, problem, models, wanted) {
    const first = data.start[problem], end = data.start[problem + 1];
    return models.some((model) => {
      for (let row = first; row < end; row++) {
        if (wanted.how >= 0 && row > first && data.how[row] !== wanted.how) continue;
        if (model.pred[row] === wanted.pred) return true;
      }
      return false;
    });
  }

  // What a rewording changed, word by word: [kind, text] with kind "same", "new" or "gone"

  const words = (text) => text.match(/[\p{L}\p{N}'’_-]+|\s+|[^\p{L}\p{N}\s]/gu) || [];

  function compare(old, now) {
    const a = words(old), b = words(now);
    let head = 0, tail = 0;
    while (head < a.length && head < b.length && a[head] === b[head]) head++;
    while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
    const middle = between(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
    const parts = [["same", b.slice(0, head)], ...middle, ["same", tail ? b.slice(b.length - tail) : []]];
    return parts.filter(([, some]) => some.length).map(([kind, some]) => [kind, some.join("")]);
  }

  function between(a, b) {
    if (!a.length || !b.length || a.length > PLAIN || b.length > PLAIN) return b.length ? [["new", b]] : [["gone", a]];
    const length = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
    for (let i = a.length - 1; i >= 0; i--)
      for (let j = b.length - 1; j >= 0; j--)
        length[i][j] = a[i] === b[j] && a[i].trim() ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
    const parts = [];
    let i = 0, j = 0;
    while (i < a.length || j < b.length) {
      const gone = [], fresh = [];
      while (i < a.length && (j >= b.length || !(a[i] === b[j] && a[i].trim()) && length[i + 1][j] >= length[i][j + 1])) gone.push(a[i++]);
      while (j < b.length && (i >= a.length || !(a[i] === b[j] && a[i].trim()) && length[i][j + 1] > length[i + 1][j])) fresh.push(b[j++]);
      if (fresh.some((word) => word.trim())) parts.push(["new", fresh]);
      else if (gone.some((word) => word.trim())) parts.push(["gone", gone]);
      else if (fresh.length || gone.length) parts.push(["same", fresh.length ? fresh : gone]);
      if (i < a.length && j < b.length && a[i] === b[j] && a[i].trim()) { parts.push(["same", [b[j]]]); i++; j++; }
    }
    return parts;
  }

  function marked(old, now) {
    const parts = document.createDocumentFragment();
    for (const [kind, text] of compare(old, now)) {
      const [, before, core, after] = text.match(/^(\s*)([^]*?)(\s*)$/); // spaces stay outside of marks
      if (kind === "same" || !core) parts.append(text);
      else parts.append(before, make(kind === "new" ? "mark" : "del", "", core), after);
    }
    return parts;
  }

  // The list

  class List {
    constructor(data, place, open) {
      Object.assign(this, { data, place, open, listed: [], at: -1, drawn: new Map() });
      this.inner = make("div", "rows");
      this.inner.setAttribute("role", "presentation");
      place.append(this.inner);
      place.addEventListener("scroll", () => this.draw(), { passive: true });
      place.addEventListener("keydown", (event) => this.key(event));
      place.addEventListener("click", (event) => {
        const row = event.target.closest("[role=option]");
        if (row) this.choose(Number(row.dataset.at));
      });
      new ResizeObserver(() => this.draw()).observe(place);
    }

    show(listed) {
      this.listed = listed;
      this.drawn.clear();
      this.inner.replaceChildren();
      this.inner.style.height = `${listed.length * ROW}px`;
      this.place.scrollTop = 0;
      this.choose(listed.length ? 0 : -1);
    }

    draw() {
      const { place, listed, drawn } = this;
      const from = Math.max(0, Math.floor(place.scrollTop / ROW) - SPARE);
      const to = Math.min(listed.length, Math.ceil((place.scrollTop + place.clientHeight) / ROW) + SPARE);
      for (const [at, row] of drawn) if (at < from || at >= to) { row.remove(); drawn.delete(at); }
      for (let at = from; at < to; at++) if (!drawn.has(at)) {
        const row = this.row(at);
        drawn.set(at, row);
        this.inner.append(row);
      }
    }

    row(at) {
      const { data } = this, one = this.listed[at], first = data.start[one.problem];
      const row = make("div", "row");
      row.id = `browse-row-${at}`;
      row.dataset.at = at;
      row.setAttribute("role", "option");
      row.setAttribute("aria-posinset", at + 1);
      row.setAttribute("aria-setsize", this.listed.length);
      row.setAttribute("aria-selected", at === this.at);
      row.style.transform = `translateY(${at * ROW}px)`;
      const head = make("span", "head");
      head.append(make("bdi", "id", data.id[first]));
      const changed = one.answers ? `${number(one.flips)} of ${number(one.answers)} changed` : "no rewording";
      head.append(make("span", one.flips ? "flip" : "kept", changed));
      const text = data.texts.map((texts) => texts[first]).filter(Boolean).reverse().join("  ·  ");
      const line = make("span", "line", text || "(text not in the buckets table)");
      line.dir = "auto";
      row.append(head, line);
      return row;
    }

    choose(at) {
      this.drawn.get(this.at)?.setAttribute("aria-selected", "false");
      this.at = at;
      if (at >= 0) {
        const top = at * ROW, { place } = this;
        if (top < place.scrollTop) place.scrollTop = top;
        else if (top + ROW > place.scrollTop + place.clientHeight) place.scrollTop = top + ROW - place.clientHeight;
      }
      this.draw();
      const row = this.drawn.get(at);
      row?.setAttribute("aria-selected", "true");
      if (row) this.place.setAttribute("aria-activedescendant", row.id);
      else this.place.removeAttribute("aria-activedescendant");
      this.open(at >= 0 ? this.listed[at] : null);
    }

    key(event) {
      const page = Math.max(1, Math.floor(this.place.clientHeight / ROW) - 1), last = this.listed.length - 1;
      const to = { ArrowDown: this.at + 1, ArrowUp: this.at - 1, PageDown: this.at + page, PageUp: this.at - page,
        Home: 0, End: last }[event.key];
      if (to === undefined || last < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      this.choose(Math.min(last, Math.max(0, to)));
    }
  }

  // One problem with its wordings

  class Detail {
    constructor(data, place) {
      Object.assign(this, { data, place });
    }

    show(one, wanted, more = MOST) {
      if (!one) {
        this.place.replaceChildren(make("p", "quiet", "No problem fits. Take a filter back."));
        return;
      }
      const { data } = this, { problem } = one, first = data.start[problem];
      const title = make("h3", "", "");
      title.append(make("bdi", "", data.id[first]));
      const rows = this.variants(problem, wanted), hidden = data.size[problem] - 1 - rows.length;
      const list = make("ol", "wordings");
      for (const row of rows.slice(0, more)) list.append(this.variant(problem, row));
      this.place.replaceChildren(title, this.original(problem), list);
      if (rows.length > more) {
        const button = make("button", "", `Show ${many(rows.length - more, "more rewording")}`);
        button.type = "button";
        button.addEventListener("click", () => this.show(one, wanted, Infinity));
        this.place.append(button);
      }
      if (hidden) this.place.append(make("p", "note", `${many(hidden, "rewording")} of other generators not shown.`));
      this.place.scrollTop = 0;
    }

    // Rewordings of the generator that is asked for, those that changed an answer first.
    variants(problem, wanted) {
      const { data } = this, first = data.start[problem], rows = [];
      for (let row = first + 1; row < data.start[problem + 1]; row++)
        if (wanted.how < 0 || data.how[row] === wanted.how) rows.push(row);
      const models = wanted.model < 0 ? data.models : [data.models[wanted.model]];
      const flips = (row) => models.filter((one) => one.pred[row] >= 0 && one.pred[row] !== one.first[problem]).length;
      return rows.sort((a, b) => flips(b) - flips(a) || a - b);
    }

    original(problem) {
      const { data } = this, first = data.start[problem], list = make("dl", "side original");
      data.fields.forEach((field, place) => this.entry(list, field, data.texts[place][first]));
      if (data.gold[problem] >= 0) {
        list.append(make("dt", "", "gold"));
        const gold = make("dd", "says");
        gold.append(make("b", "", data.labels[data.gold[problem]]));
        list.append(gold);
      }
      this.answers(list, problem, first);
      return list;
    }

    entry(list, field, text, old) {
      list.append(make("dt", "", field));
      const place = make("dd");
      place.dir = "auto";
      if (text === null || text === undefined) place.append(make("span", "quiet", "not in the buckets table"));
      else if (!text) place.append(make("span", "quiet", "(empty)"));
      else if (typeof old === "string") place.append(marked(old, text));
      else place.append(text);
      list.append(place);
    }

    variant(problem, row) {
      const { data } = this, first = data.start[problem], item = make("li"), list = make("dl", "side");
      const changed = data.fields.map((field, place) => [field, data.texts[place]]).filter(([, texts]) => texts[row] !== 0);
      for (const [field, texts] of changed) this.entry(list, field, texts[row], texts[first]);
      if (!changed.length) {
        list.append(make("dt", "", "text"), make("dd", "quiet", "the same words"));
      }
      this.answers(list, problem, row);
      const name = make("dd", "id");
      name.append(make("bdi", "", data.id[row]));
      if (data.how[row] >= 0) name.append(` · ${data.hows[data.how[row]]}`);
      list.append(make("dt"), name);
      item.append(list);
      return item;
    }

    answers(list, problem, row) {
      const { data } = this, original = row === data.start[problem];
      for (const model of data.models) {
        const pred = model.pred[row];
        list.append(make("dt", "model", data.models.length > 1 ? model.name : "answer"));
        const says = make("dd", "says");
        if (pred < 0) says.append(make("span", "quiet", original ? "the original was not answered" : "not asked"));
        else {
          says.append(make("b", "", data.labels[pred]));
          if (model.sure && model.sure[row] >= 0) says.append(" ", make("span", "quiet", `${model.sure[row]}\u00a0%`));
          const gold = data.gold[problem];
          if (gold >= 0) says.append(" ", pred === gold ? make("span", "good", "✓ right") : make("span", "bad", "✗ wrong"));
          if (!original && pred !== model.first[problem]) says.append(" ", make("span", "flip", "⇄ changed"));
        }
        list.append(says);
      }
    }
  }

  // Filters

  function fill(control, names) {
    if (!control) return; // no right answers are known
    names.forEach((name, place) => {
      const option = make("option", "", name);
      option.value = place;
      control.append(option);
    });
    control.closest("label").hidden = names.length < 2;
  }

  function wanted() {
    const place = (name) => ($(name)?.value ? Number($(name).value) : -1);
    return {
      text: $("text").value.trim().toLowerCase().replace(/\s+/g, " "), label: place("label"), pred: place("pred"),
      how: place("how"), model: place("model"), outcome: $("outcome").value, order: $("order").value,
    };
  }

  function begin(data) {
    fill($("label"), data.labels);
    fill($("pred"), data.labels);
    fill($("how"), data.hows);
    fill($("model"), data.models.map((one) => one.name));
    const detail = new Detail(data, $("detail"));
    const list = new List(data, $("list"), (one) => detail.show(one, wanted()));
    const update = () => {
      const listed = select(data, wanted());
      list.show(listed);
      $("found").textContent = `${many(listed.length, "problem")} of ${number(data.size.length)}`;
    };
    let waiting = 0;
    $("text").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(update, 60); });
    for (const name of ["label", "pred", "how", "model", "outcome", "order"]) $(name)?.addEventListener("change", update);
    $("form").addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(waiting); update(); });
    $("form").addEventListener("reset", () => setTimeout(update));
    $("form").hidden = $("both").hidden = false;
    update();
    prepareSearch(data);
  }

  async function main() {
    const holder = $("data");
    if (!holder) return;
    try {
      if (typeof DecompressionStream === "undefined") throw new Error("it is older than 2023");
      begin(prepare(await read(holder)));
      document.documentElement.dataset.browse = "ready";
    } catch (error) {
      $("found").textContent = `This browser cannot show the list: ${error.message}. All else on this page works.`;
    }
  }

  main();
})();
