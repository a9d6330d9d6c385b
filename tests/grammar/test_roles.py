"""Roles: exchanges that say something else, and rewordings that leave everybody in place."""

from __future__ import annotations

import pytest

pytest.importorskip("spacy")

from otherwords.grammar.exchanges import crossed, exchanged
from otherwords.grammar.parsing import ParseTree, parser
from otherwords.grammar.participants import is_living
from otherwords.grammar.roles import Roles, roles
from otherwords.grammar.verb_relations import CONVERSE, SYMMETRIC

EXCHANGED = [
    ("Germany defeats Latvia.", "Latvia defeats Germany."),
    ("Germany defeats Latvia.", "Germany was defeated by Latvia."),
    ("Germany beats Latvia.", "Latvia beats Germany."),
    ("Tom sold the car to Ann.", "Ann sold the car to Tom."),
    ("Tom gave Ann a book.", "A book was given to Tom by Ann."),
    ("They flew from Rome to Paris.", "They flew from Paris to Rome."),
    ("Anna's dog bit Ben.", "Ben's dog bit Anna."),
    ("Anna is taller than Ben.", "Ben is taller than Anna."),
    ("Anna is taller than Ben.", "Anna is shorter than Ben."),
    ("The car was more expensive than the house.", "The house was more expensive than the car."),
    ("The cat is under the table.", "The table is under the cat."),
    ("The cat is under the table.", "The cat is above the table."),
    ("He ate before he slept.", "He slept before he ate."),
    ("She left because he cried.", "He cried because she left."),
    ("The old man greets the young man.", "The young man greets the old man."),
    ("Peter Smith greeted Anna Smith.", "Anna Smith greeted Peter Smith."),
    ("The boy who kicked the girl ran away.", "The girl who kicked the boy ran away."),
    ("The man wants to help the woman.", "The woman wants to help the man."),
    ("He hit John.", "John hit him."),
    ("A man sits and a woman stands.", "A woman sits and a man stands."),
    ("Most of the cats chased by dogs escaped.", "Most of the dogs chased by cats escaped."),
    ("A man in a red shirt and a woman in a blue dress.", "A man in a blue shirt and a woman in a red dress."),
    ("A dog bit a man.", "A man bit a dog."),
    ("A man slices food next to a gas oven.", "Food slices a man next to a gas oven."),
    # other verbs, adjectives, nouns
    ("The coach blamed the referee.", "The referee accused the coach."),
    ("The thief made fun of the guard.", "The guard mocked the thief."),
    ("The workers moved from Spain to Italy.", "The workers relocated from Italy to Spain."),
    ("They drove from Lyon to Nice overnight.", "They drove overnight from Nice to Lyon."),
    ("The nurse is afraid of the doctor.", "The doctor is scared of the nurse."),
    ("A waiter hands a guest a glass.", "A guest passes a waiter a glass."),
    ("Sweden beat Denmark.", "Sweden lost to Denmark."),
    ("Greta sold her bike to Nils.", "Greta bought her bike from Nils."),
    ("Eva outscored Jon.", "Jon scored more points than Eva."),
    # pronouns, and nouns that are told apart by their phrases
    ("I called the plumber, and he laughed.", "The plumber called me, and I laughed."),
    ("He loved her before she noticed him.", "She loved him before he noticed her."),
    ("My cousin borrowed my tent.", "I borrowed my cousin's tent."),
    ("Lea is better at golf than her uncle.", "Lea's uncle is better at golf than she is."),
    ("A man in blue shorts passes a man in red shorts.", "A man in red shorts passes a man in blue shorts."),
    (
        "The man in the blue shirt is taller than the man in the green shirt.",
        "The man in the green shirt is taller than the one in the blue shirt.",
    ),
    ("The train to Oslo left after the train to Bergen.", "The train to Bergen departed after the one to Oslo."),
    ("The wolf that the hunter wounded escaped.", "The hunter that the wolf wounded escaped."),
    (
        "The goalie from Madrid blocked a shot by the striker from Porto.",
        "The striker from Porto blocked a shot by the goalie from Madrid.",
    ),
    ("Kelly forgave her mother.", "Kelly's mother forgave her."),
    ("Mrs Doyle inherited the farm from her nephew.", "Mrs Doyle's nephew inherited the farm from her."),
    ("The doctor was angry with the nurse.", "The nurse was angry with the doctor."),
    ("The storm came after the parade.", "The parade took place after the storm."),
    ("The teacher whom the principal praised has retired.", "The teacher who praised the principal is now retired."),
    # parsers hang "from" and "to" on what is taken or given
    (
        "A seagull steals a sandwich from a tourist on the pier.",
        "A tourist snatches a sandwich from a seagull on the pier.",
    ),
    ("The grandmother reads a story to the twins.", "The twins read the grandmother a story."),
    # parsers take a kitten for an adjective, waves for a noun, and an agent for part of a place
    ("A kitten licks a puppy on a blanket.", "A puppy licks a kitten on a blanket."),
    ("A father waves to his daughter.", "A daughter waves to her father."),
    ("A bride kisses her aunt on the cheek.", "A bride is kissed on the cheek by her aunt."),
    ("A player in white tackles a player in green.", "A player in white is tackled by a player in green."),
    ("Eva lied that Jon had hit her with a stick.", "Jon lied that he had been hit with a stick by Eva."),
    # clefts, and what one gets that is another's
    ("Alice got the piano from Ruth.", "It was from Alice that Ruth got the piano."),
    ("You called me first.", "I was the one who called you first."),
    ("Maria lent her bicycle to Tom.", "Maria borrowed Tom's bicycle."),
    ("The museum borrowed the vase from a church.", "The museum lent the vase to a church."),
    ("Duarte was succeeded as mayor by Okafor.", "Duarte took over as mayor from Okafor."),
    ("Chelsea were beaten by Arsenal at home.", "Arsenal suffered a home defeat against Chelsea."),
    # halves of a sentence
    ("The lake is north of the town.", "The town lies to the north of the lake."),
    ("Sam is a much better cook than Julia.", "Everyone says that Julia cooks far better than Sam."),
    ("You're a better cook than your sister, I have to say.", "Your sister's a better cook than you, I have to say."),
    ("Prices are higher in the city than in the country.", "In the country, prices are higher than in the city."),
    ("The heat flows from the metal into the water.", "Heat moves out of the water and into the metal."),
    (
        "The bus stops at the market after it passes the church.",
        "Before it passes the church, the bus stops at the market.",
    ),
    ("I met Oscar's wife before I met Oscar.", "I met Oscar before I met his wife."),
    ("First she fed the baby, then she called the doctor.", "She called the doctor and fed the baby afterwards."),
    ("The choir sang before the orchestra played.", "The orchestra had played by the time the choir sang."),
    ("Your refund will be paid by the bank, not by the shop.", "Your refund comes from the shop rather than the bank."),
    ("Oil prices rose because the war dragged on.", "The war dragged on because of rising oil prices."),
]
IN_PLACE = [
    ("Ann was happy when she was young.", "When Ann was young, she was happy."),
    ("Germany defeats Latvia.", "Latvia is defeated by Germany."),
    ("Anna's brother called Ben.", "The brother of Anna called Ben."),
    ("Anna met Ben.", "Ben met Anna."),
    ("Anna is taller than Ben.", "Ben is shorter than Anna."),
    ("A man and a woman dance.", "A woman and a man dance."),
    ("A man, a dog and a woman dance.", "A woman, a dog and a man dance."),
    ("Tom bought a car from Ann.", "Ann sold a car to Tom."),
    ("The teacher follows the student.", "The student leads the teacher."),
    ("The cat is under the table.", "The table is above the cat."),
    ("He ate before he slept.", "He slept after he ate."),
    ("His wife loved John.", "John's wife loved him."),
    ("Tom gave Ann a book.", "Ann was given a book by Tom."),
    ("Iggy Pop was the lead singer.", "The lead singer was Iggy Pop."),
    ("The book that Tom wrote is good.", "The book written by Tom is good."),
    ("A man with a dog walks.", "A dog walks with a man."),
    ("In summer dogs swim in the lake.", "In the lake dogs swim in summer."),
    ("A red ball that is big.", "A big ball that is red."),
    ("The tents have a domed roof.", "A domed roof adorns the tents."),
    ("A toddler is afraid of the man dressed as a bear.", "The man dressed as a bear scares a toddler."),
    ("My aunt is a better cook than my mother.", "My mother doesn't cook as well as my aunt."),
    (
        "Mrs. Hale introduced Mr. Ives to the bishop's wife.",
        "The bishop's wife was introduced to Mr. Ives by Mrs. Hale.",
    ),
    ("The path is much less crowded than the road.", "The road is much more crowded than the path."),
    ("The wolf is afraid of the fox.", "The fox frightens the wolf."),
    ("The two houses are close to the road.", "The road is close to the two houses."),
    ("Sweden lost to Denmark.", "Denmark beat Sweden."),
    ("I lent my neighbor a ladder.", "My neighbor borrowed a ladder from me."),
    ("Hannah taught Lucas to swim.", "Lucas learned to swim from Hannah."),
    ("The king was overthrown by his brother.", "The king's brother overthrew him."),
    ("Ruth is older than Karen by three years.", "Karen is three years younger than Ruth."),
    ("A boxer in blue hits a boxer in white.", "A boxer in white is hit by a boxer in blue."),
    ("A woman sat in the park.", "In the park sat a woman."),
    ("The doctor treated Ann.", "Ann got treatment from the doctor."),
    ("He told her that she was right.", "She was told by him that she was right."),
    ("He paid after he had tasted the soup.", "He did not pay before he had tasted the soup."),
    ("Wine goes more to Japan than to Canada.", "Less wine goes to Canada than to Japan."),
    ("Kim got home from the movies and went to school.", "Kim went to the movies after coming back from school."),
    ("We took the train instead of the bus.", "We did not take the bus but the train."),
    ("Not only Ann but also Ben came.", "Not only Ben but also Ann came."),
    ("The box on the left is heavier than the one on the right.", "The right box is lighter than the left one."),
    ("Before the guests arrived, Sue cleaned the kitchen.", "Sue cleaned the kitchen before the guests arrived."),
    ("In winter we spend more than in summer.", "We spend more in winter than in summer."),
    ("Nobody in the team runs faster than Maya.", "Maya runs faster than anybody else in the team."),
    ("It was Ann who called Ben.", "Ben was the one whom Ann called."),
    ("Ann bought Tom's house.", "Tom sold Ann his house."),
    ("The lake is north of the town.", "The town is south of the lake."),
    ("The parents look after the twins.", "On Fridays, the twins are looked after by their parents."),
    ("The groom's sister danced with the bride's brother.", "The brother of the bride danced with the groom's sister."),
    ("Duarte was succeeded as mayor by Okafor.", "Okafor took over as mayor from Duarte."),
    ("He was hit by a stone thrown by a boy.", "A stone that a boy threw hit him."),
    ("From Tom Ann bought", "From Tom, Ann borrowed"),
]


CROSSED = [
    ("A goat chases a toddler across a farmyard.", "A toddler runs after a goat across a farmyard."),
    ("A hawk dives at a crow above the trees.", "A crow swoops at a hawk above the trees."),
    ("The governor appointed Reyes to replace Whitman.", "The governor named Whitman to replace Reyes."),
    ("The committee chose Lee over Park.", "Park was chosen by the committee over Lee."),
    ("Oslo is colder than Madrid in spring.", "In spring, Madrid is chillier than Oslo."),
]
NOT_CROSSED = [
    ("Spain beat Croatia in Berlin.", "Croatia lost to Spain in Berlin."),
    ("Poland was invaded by Germany in 1939.", "In 1939 Germany attacked Poland."),
    ("Ahmed is older than Farid.", "Farid is younger than Ahmed."),
    ("Lena resembles her aunt.", "Lena's aunt looks like her."),
    ("A vet sleeps while a husky runs.", "A husky races while a vet naps."),
    ("The doctor arrived later than the police.", "The police arrived earlier than the doctor."),
]


@pytest.fixture(scope="module")
def read() -> dict[str, Roles]:
    texts = [text for pair in EXCHANGED + IN_PLACE + CROSSED + NOT_CROSSED for text in pair]
    return {text: roles(ParseTree(text, nodes)) for text, nodes in zip(texts, parser()(texts), strict=True)}


@pytest.mark.parametrize(("before", "after"), EXCHANGED)
def test_an_exchange_is_seen_both_ways(read, before, after):
    assert exchanged(read[before], read[after])
    assert exchanged(read[after], read[before])


@pytest.mark.parametrize(("before", "after"), IN_PLACE)
def test_who_stays_in_place_is_left_alone(read, before, after):
    assert [str(one) for one in exchanged(read[before], read[after])] == []
    assert [str(one) for one in exchanged(read[after], read[before])] == []


@pytest.mark.parametrize("text", [text for pair in EXCHANGED + IN_PLACE for text in pair])
def test_a_text_exchanges_nothing_with_itself(read, text):
    assert exchanged(read[text], read[text]) == []


def test_it_says_who_became_whom(read):
    [one] = exchanged(read["Germany defeats Latvia."], read["Latvia defeats Germany."])
    assert str(one) == '"Germany" defeats "Latvia" became "Latvia" defeats "Germany"'
    [other] = exchanged(read["Anna's dog bit Ben."], read["Ben's dog bit Anna."])
    assert '"Anna"' in str(other)
    assert '"Ben"' in str(other)


def test_colours_are_modifiers(read):
    [one] = exchanged(*(read[text] for text in EXCHANGED[21]))
    assert one.kind == "modifiers"


def test_who_lives():
    words = ["referee", "fox", "nurse", "Kenya", "visit", "picture", "table", "fun"]
    assert [is_living(word) for word in words] == [True, True, True, True, False, False, False, False]


def test_converses_are_pairs_of_verbs_that_are_not_symmetric():
    assert all(len(pair) == 2 and pair.isdisjoint(SYMMETRIC) for pair in CONVERSE)


@pytest.mark.parametrize(("before", "after"), CROSSED)
def test_two_in_each_others_places_are_a_suspicion_around_any_words(read, before, after):
    assert any(one.alike or one.facing for one in crossed(read[before], read[after]))


@pytest.mark.parametrize(("before", "after"), NOT_CROSSED)
def test_nobody_is_suspected_where_words_say_why_the_order_changed(read, before, after):
    assert not any(one.alike or one.facing for one in crossed(read[before], read[after]))
