"""Prepositional phrases that say where or when something happens, and so belong to the verb wherever they stand."""

from __future__ import annotations

from .tree import Tree

_WHERE_OR_WHEN = """
    in on at near inside outside behind beside beneath below above under underneath over into onto through across along
    around down up off toward towards from past during after before between next within throughout out
"""
#: Prepositions of place and time; "with", "of", "about" and "against" are as often part of the noun before them.
PLACE_AND_TIME = frozenset(_WHERE_OR_WHEN.split())
_CLOTHES = """
    hat shirt dress coat jacket suit uniform costume jeans cap skirt vest sweater hoodie outfit helmet shorts robe
    sunglasses glasses tie gown apron clothing clothes attire gear swimsuit bikini tuxedo scarf wheelchair
    red blue green yellow black white purple pink brown gray grey orange
"""
#: Who is "in" these is the noun before, whatever the parser says.
_WORN = frozenset(_CLOTHES.split())


def is_adverbial(tree: Tree, at: int) -> bool:
    """Whether a prepositional phrase says where or when: one plain phrase, in which nothing is joined.

    >>> from .parsing import parser
    >>> text = "A boy is watching the girl with a hat in the park."
    >>> [nodes] = parser()([text])
    >>> tree = Tree(text, nodes)
    >>> is_adverbial(tree, 6), is_adverbial(tree, 9)
    (False, True)
    """
    below = [tree[one] for one in tree.subtree(at)]
    if tree[at].text.lower() not in PLACE_AND_TIME or any(node.dep in {"conj", "cc", "relcl", "acl"} for node in below):
        return False
    worn = tree[at].text.lower() == "in" and any(tree[one].lemma.lower() in _WORN for one in tree.children(at, "pobj"))
    return not worn and not any(
        node.text.lower() in {"with", "about", "against", "while", "like", "as", "than"} for node in below
    )
