"""American and British spelling, and words with two spellings: "color" and "colour", "gray" and "grey".

Words in names ("Pearl Harbor") keep their spelling.
"""

from collections.abc import Iterator
from functools import cache

from .parsing import ParseTree
from .rewriting import Rewriting, begins_sentence
from .substituting import by_first_word, occurrences, substitute

#: Stems in -or and -our, with the endings that follow.
_OR = """
    color discolor favor flavor harbor honor humor labor neighbor odor parlor rumor savior vigor armor behavior candor
    clamor endeavor fervor glamor rigor savor splendor tumor valor vapor demeanor misdemeanor
"""
_OR_ENDINGS = ("", "s", "ed", "ing", "ful", "less", "able", "ably", "ite", "ites", "hood", "hoods", "er", "ers", "y")
_NOT_BRITISH = {"humory", "honory", "vigory", "glamory", "laborite", "laborites", "harborite", "rumorable", "vapory"}
_IZE = """
    apolog author categor central character civil coll commercial critic custom democrat econom emphas equal final
    fertil general global harmon hospital industrial legal liberal local material maxim memor minim mobil modern
    natural neutral normal optim organ patron penal popular priorit privat real recogn reorgan revolution scrutin
    special stabil standard steril styl subsid summar symbol sympath terror util vandal visual vocal
"""
_IZE_ENDINGS = ("e", "es", "ed", "ing", "er", "ers", "ation", "ations", "able")
_YZE = "anal paral catal"
_YZE_ENDINGS = ("e", "es", "ed", "ing", "er", "ers")
_ER = "cent theat fib lit calib spect lust sab somb meag"
_L = """
    travel cancel label model signal level fuel total marvel quarrel counsel channel shovel tunnel dial equal initial
    jewel libel panel parcel pedal pencil rival spiral swivel unravel
"""
_L_ENDINGS = ("ed", "ing", "er", "ers", "or", "ors")
_DEFENSE = "defense offense pretense"
_PAIRS = """
    gray/grey grays/greys grayish/greyish graying/greying pajamas/pyjamas pajama/pyjama mustache/moustache
    mustaches/moustaches mustached/moustached jewelry/jewellery aluminum/aluminium cozy/cosy skeptical/sceptical
    skeptic/sceptic skeptics/sceptics skepticism/scepticism plow/plough plows/ploughs plowed/ploughed plowing/ploughing
    mold/mould molds/moulds moldy/mouldy molded/moulded donut/doughnut donuts/doughnuts yogurt/yoghurt ax/axe
    judgment/judgement judgments/judgements acknowledgment/acknowledgement aging/ageing okay/ok adviser/advisor
    advisers/advisors cooperate/co-operate cooperation/co-operation coordinate/co-ordinate email/e-mail emails/e-mails
    coworker/co-worker coworkers/co-workers fulfill/fulfil fulfills/fulfils fulfillment/fulfilment
    enrollment/enrolment enroll/enrol installment/instalment installments/instalments skillful/skilful
    skillfully/skilfully willful/wilful maneuver/manoeuvre maneuvers/manoeuvres maneuvering/manoeuvring
    maneuvered/manoeuvred encyclopedia/encyclopaedia pediatric/paediatric pediatrician/paediatrician
    archeology/archaeology archeological/archaeological archeologist/archaeologist archeologists/archaeologists
    artifact/artefact artifacts/artefacts catalog/catalogue catalogs/catalogues dialog/dialogue dialogs/dialogues
    inquiry/enquiry inquiries/enquiries learned/learnt burned/burnt dreamed/dreamt leaned/leant spelled/spelt
    spilled/spilt leaped/leapt spoiled/spoilt kneeled/knelt smelled/smelt
    sulfur/sulphur anesthesia/anaesthesia orthopedic/orthopaedic
    barbecue/barbeque barbecuing/barbequing nonprofit/non-profit healthcare/health care website/web site
    websites/web sites cellphone/cell phone cellphones/cell phones hotdog/hot dog hotdogs/hot dogs
    ballgame/ball game cannot/can not anymore/any more underway/under way lifestyle/life-style
    sidewalk/side walk firefighter/fire fighter firefighters/fire fighters skateboarder/skate boarder
    policymaker/policy maker policymakers/policy makers decisionmaking/decision-making
    program/programme programs/programmes tire/tyre tires/tyres curb/kerb curbs/kerbs favorite/favourite
    favorites/favourites disfavor/disfavour unfavorable/unfavourable honorary/honourary theatergoer/theatregoer
    centimeter/centimetre centimeters/centimetres kilometer/kilometre kilometers/kilometres millimeter/millimetre
    millimeters/millimetres meters/metres tranquility/tranquillity whiskey/whisky blond/blonde
    t-shirt/tee shirt t-shirts/tee shirts t-shirt/tshirt t-shirts/tshirts tee-shirt/t-shirt tee-shirts/t-shirts
    ice-cream/ice cream teenaged/teenage racecar/race car racecars/race cars bluejeans/blue jeans
    motorcross/motocross barefooted/barefoot snowboarder/snow boarder
    rollerblades/roller blades hairdo/hair-do hardhat/hard hat hardhats/hard hats
    multicolored/multi-colored multicolored/multicoloured multi-colored/multi-coloured
    multicultural/multi-cultural midair/mid-air makeup/make-up leapfrog/leap frog
    worldwide/world-wide prewar/pre-war postwar/post-war ongoing/on-going cutoff/cut-off
    percent/per cent
    somber/sombre traveler/traveller travelers/travellers woolen/woollen
"""
#: Spellings that must not be made, only undone: the other word has other meanings, or is rare.
_ONE_WAY = {"honorary", "theatergoer", "percent", "per cent", "ax", "anymore", "program", "programs", "sidewalk",
            "firefighter", "firefighters", "skateboarder", "snowboarder", "cannot", "ok", "hotdog", "hotdogs",
            "any more", "barbecue", "barbecuing", "rollerblades", "policymaker", "policymakers", "ice-cream",
            "racecar", "racecars", "decision-making",
            "websites", "website", "underway", "inquiry", "inquiries", "smelt", "barefoot", "teenage", "motocross",
            "t-shirt", "t-shirts", "leapfrog", "blue jeans", "hard hat", "hard hats", "race car", "race cars",
            "cell phone", "cell phones", "ball game", "hair-do", "lifestyle", "judgment", "judgments", "meters",
            "dreamed", "leaned", "spilled", "spoiled", "smelled", "archaeology",
            "archaeological", "archaeologist", "archaeologists", "dialogue", "dialogues",
            "catalogue", "catalogues"}  # fmt: skip
#: As other parts of speech, these are other words.
_TAGS = {
    "learned": {"VBD", "VBN"}, "burned": {"VBD"}, "burnt": {"VBD"}, "leapt": {"VBD"}, "leaped": {"VBD"},
    "tire": {"NN"}, "tires": {"NNS"}, "curb": {"NN"}, "curbs": {"NNS"}, "mold": {"NN"}, "harbor": {"NN"},
    "blond": {"JJ"}, "blonde": {"JJ"}, "metres": {"NNS"}, "underway": {"RB", "JJ"}, "parlor": {"NN"},
    "knelt": {"VBD"}, "kneeled": {"VBD"}, "spelled": {"VBD", "VBN"}, "aging": {"NN", "JJ", "VBG"},
}  # fmt: skip


def exchange_spelling(tree: ParseTree, *, back: bool = False) -> Iterator[Rewriting]:
    """Spell a word as it is spelled elsewhere; `back` also with spellings that are only met, never made.

    >>> from .parsing import parser
    >>> text = "My favorite color is gray."
    >>> [nodes] = parser()([text])
    >>> for one in exchange_spelling(ParseTree(text, nodes)):
    ...     print(one.apply(text))
    My favourite color is gray.
    My favorite colour is gray.
    My favorite color is grey.
    """
    for first, last, word in occurrences(tree, _words()):
        if not back and (_is_name(tree, first, last) or tree[last].tag not in _TAGS.get(word, {tree[last].tag})):
            continue
        for new in _spellings()[word]:
            if back or word not in _ONE_WAY:
                yield substitute(tree, "spelling", first, last, new)


def _is_name(tree: ParseTree, first: int, last: int) -> bool:
    """Whether a word is part of a name: it has a capital inside a sentence, or is next to one that has."""
    around = [at for at in (first - 1, last + 1) if 0 <= at < len(tree.nodes)]
    named = any(tree[at].text[:1].isupper() and tree[at].named and not begins_sentence(tree, at) for at in around)
    capital = tree[first].text[:1].isupper() and not begins_sentence(tree, first)
    return capital or any(tree[at].named for at in range(first, last + 1)) or (named and tree[first].text[:1].isupper())


@cache
def _spellings() -> dict[str, list[str]]:
    """For every word its other spellings."""
    found: dict[str, list[str]] = {}
    for one, other in _pairs():
        if one != other:
            found.setdefault(one, []).append(other)
            found.setdefault(other, []).append(one)
    return {word: list(dict.fromkeys(others)) for word, others in found.items()}


def _pairs() -> Iterator[tuple[str, str]]:
    """American and British spellings, every form."""
    for stem in _OR.split():
        forms = [f"{stem}{end}" for end in _OR_ENDINGS]
        yield from ((one, f"{stem[:-2]}our{one[len(stem) :]}") for one in forms if one not in _NOT_BRITISH)
    for stem in _IZE.split():
        yield from (
            (f"{stem}iz{end}", f"{stem}is{end}") for end in _IZE_ENDINGS if f"{stem}is{end}" not in _OTHER_WORDS
        )
    for stem in _YZE.split():
        yield from (
            (f"{stem}yz{end}", f"{stem}ys{end}") for end in _YZE_ENDINGS if f"{stem}ys{end}" not in _OTHER_WORDS
        )
    for stem in _ER.split():
        yield from ((f"{stem}{one}", f"{stem}{two}") for one, two in (("er", "re"), ("ers", "res"), ("ered", "red")))
    for stem in _L.split():
        yield from ((f"{stem}{end}", f"{stem}l{end}") for end in _L_ENDINGS)
    for word in _DEFENSE.split():
        yield from ((f"{word}{end}", f"{word[:-2]}ce{end}") for end in ("", "s", "less"))
    lines = [line.strip() for line in _PAIRS.strip().splitlines()]
    yield from _listed(" ".join(lines))


#: British forms in -is- and -ys- that are also other words.
_OTHER_WORDS = {"analyses", "paralyses", "organiser-", "emphases", "realist", "stylish"}


def _listed(text: str) -> Iterator[tuple[str, str]]:
    """The pairs of a list in which a word with a space belongs to the pair whose slash is before it."""
    pieces = text.split("/")
    ones = [pieces[0], *(piece.rsplit(" ", 1)[-1] for piece in pieces[1:-1])]
    others = [*(piece.rsplit(" ", 1)[0] for piece in pieces[1:-1]), pieces[-1]]
    yield from zip(ones, others, strict=True)


@cache
def _words() -> dict[str, list[str]]:
    return by_first_word(list(_spellings()))
