"""The streams on which settings are chosen: none of the paper's eight, none of the archive.

A third of the tracker's family is set apart and looked at once, at the end.
"""

PATH = "dataset=dev/path dataset.segment_size=400 dataset.test_size=120"  # all of its 99 segments
FIVE = f"{PATH} dataset.features=5"
KEEL = "dataset=dev/keel dataset.keel="
OURS = {
    "exchange, 2 features": f"{PATH} dataset.exchange=true dataset.path_seed=2",
    "exchange, 3 features": f"{PATH} dataset.exchange=true dataset.path_seed=3 dataset.features=3",
    "path 28, 5 features": f"{FIVE} dataset.path_seed=28",  # the classes change places, too
    "path 40, 4 classes": f"{FIVE} dataset.path_seed=40 dataset.classes=4",
    "penbased": f"{KEEL}penbased",
    "texture": f"{KEEL}texture",
    **{  # no drift: what does a method lose by adapting to nothing?
        f"{name}, shuffled": f"{KEEL}{name} dataset.order=shuffled stream.max_segments=15"
        for name in ("magic", "phoneme", "penbased")
    },
}


def shapes(seed: int, **knobs: object) -> str:
    """Overrides of dataset=dev/shapes."""
    words = [f"dataset.{name}={value}".replace(" ", "") for name, value in knobs.items()]
    return " ".join(["dataset=dev/shapes", f"dataset.shapes_seed={seed}", *words])


SMALL = {"segment_size": 100, "test_size": 30, "features": 10, "classes": 4}
WIDE = {"binary": True, "features": 200, "wander": 14, "gap": 7, "segments": 25}
WORDS = {"binary": True, "features": 500, "segments": 20}
LARGE = {"segment_size": 700, "test_size": 200}
SHORT = f"{PATH} dataset.segments=60"
WHEEL = {"layout": "wheel", "classes": 4, "segment_size": 800, "test_size": 240}
COLUMN = {"layout": "column", "classes": 5}
KEYS = {"features": 10, "classes": 4}
HUNDRED = {"segment_size": 100, "test_size": 30, "segments": 16}
SIXTY = {"segment_size": 60, "test_size": 18, "segments": 26}
PAIR = {"segment_size": 200, "test_size": 60, "segments": 80}
MANY = {"segment_size": 800, "test_size": 240, "classes": 2, "gap": 3.5}
FOUR = {"segment_size": 2000, "test_size": 600, "segments": 50, "classes": 4}
THREE_ONE = FOUR | {"joined": [0, 0, 0, 1]}
SESSIONS = {"features": 10, "classes": 4, "segments": 8, "segment_size": 200, "test_size": 60}
STARS = {"shape": "star", "segment_size": 800, "test_size": 240}
ARMS = {"shape": "arms", "segment_size": 800, "test_size": 240}
CRESCENTS = {"shape": "crescent", "gap": 4}
TRACKER = {
    "few gold": shapes(1, **SMALL, wander=12, gap=3.5),
    "few gold, travel": shapes(2, **SMALL, travel=30, wander=6, gap=3.5),
    "three modes": shapes(3, modes=3, wander=7, gap=4),
    "four modes turn": shapes(4, modes=4, turn=6, gap=3.5, wander=2, **LARGE),
    "rings": shapes(5, shape="ring", wander=8, gap=8),
    "rings cross": shapes(31, shape="ring", classes=2, cross=3.5, gap=8),
    "crescents turn": shapes(6, shape="crescent", turn=5, gap=3.5),
    "crescent pairs": shapes(32, **CRESCENTS, modes=2, turn=4, wander=2, **LARGE),
    "stars turn": shapes(7, shape="star", turn=6, size=6, gap=5, classes=3),
    "fast turn": shapes(8, classes=3, turn=45, gap=4),
    "fast turn, many": shapes(9, classes=3, modes=3, turn=14, gap=4, **LARGE),
    "travel": shapes(10, travel=120, gap=4),
    "swell and turn": shapes(11, swell=1, turn=10, classes=5, gap=4.5),
    "shares to 99": shapes(12, shares=[50, 50], last_shares=[1, 99], wander=6, gap=4),
    "shares 2 8 90": shapes(13, classes=3, shares=[2, 8, 90], wander=5, gap=4),
    "shares exchange": shapes(14, shares=[90, 10], last_shares=[10, 90], wander=5, gap=3),
    "binary": shapes(15, **WIDE),
    "binary, three": shapes(16, **WIDE | {"classes": 3, "wander": 9, "features": 300, "gap": 9}),
    "jump": shapes(17, classes=3, jump=8, wander=3),
    "recurring": shapes(18, classes=4, features=3, wander=9, periods=3, gap=3.5),
    "pass": shapes(19, cross=1.5, gap=6),
    "pass near": shapes(20, cross=0.8, gap=6, features=3),
    "still": shapes(21, gap=2, features=4, classes=3),
    "still crescents": shapes(22, shape="crescent", gap=1),
    "wheel 12": shapes(40, **WHEEL, turn=12, gap=6, swell=0.4),
    "wheel 25, breathing": shapes(41, **WHEEL, turn=4.2, gap=6, swell=0.6, periods=3),
    "wheel 40": shapes(42, **WHEEL, turn=40, gap=7, swell=0.3),
    "wheel 55": shapes(43, **WHEEL, turn=-55, gap=8, swell=0.3),
    "wheel 65": shapes(44, **WHEEL, turn=65, gap=9),
    "wheel travels": shapes(45, **WHEEL, turn=-30, gap=6, travel=60, swell=0.3),
    "wheel, narrow": shapes(46, **WHEEL, turn=18, gap=3.4, swell=0.5),
    "wheel of two": shapes(47, **WHEEL | {"classes": 2}, modes=2, turn=20, gap=5),
    "wheel of six": shapes(48, **WHEEL | {"classes": 6}, turn=25, gap=6),
    "column": shapes(51, **COLUMN, travel=100, gap=5),
    "column, fast": shapes(52, **COLUMN, travel=175, gap=5),
    "column, faster": shapes(54, **COLUMN, travel=300, gap=5),
    "column, back": shapes(50, **COLUMN, travel=40, gap=4, periods=1),
    "column, to and fro": shapes(53, **COLUMN, travel=60, gap=4, periods=2, segments=60),
    "three Gaussians turn": shapes(55, **MANY, modes=3, wander=9, turn=8),
    "four Gaussians": shapes(56, **MANY, modes=4, wander=14),
    "keys": shapes(57, **KEYS, gap=3.2, wander=8, **HUNDRED),
    "keys, two modes": shapes(58, **KEYS, modes=2, gap=3.2, wander=7, **PAIR | {"segments": 8}),
    "keys, 60 rows": shapes(59, **KEYS, gap=3.5, wander=5, **SIXTY),
    "pair": shapes(60, **PAIR, gap=3.2, travel=150, periods=2),
    "pair turns": shapes(61, **PAIR, gap=3.0, turn=4.5, travel=40),
    "three to one": shapes(74, **THREE_ONE, gap=3.5, wander=14),
    "three to one, wheel": shapes(75, **THREE_ONE, layout="wheel", gap=4, wander=8, turn=5),
    "two to two": shapes(76, **FOUR, joined=[0, 1, 0, 1], gap=3.5, wander=16),
    "circled": shapes(77, **FOUR | {"classes": 5}, joined=[0, 0, 0, 0, 1], gap=3.5, wander=12),
    "wheel in steps": shapes(78, **WHEEL, turn=10, gap=5, swell=0.5, steps=20),
    "wheel, half steps": shapes(79, **WHEEL, turn=20, gap=6, swell=0.6, steps=40),
    "column in steps": shapes(80, **COLUMN, travel=60, gap=5, steps=20),
    "column, half steps": shapes(81, **COLUMN, travel=-90, gap=4.5, steps=40, wander=4),
    "path in steps": shapes(82, classes=3, wander=14, gap=4, steps=15),
    "wheel contracts": shapes(83, **WHEEL, turn=8, gap=4, swell=-0.7),
    "sessions": shapes(84, **SESSIONS, wander=6, gap=4, noise="skewed", steps=8),
    "sessions, heavy": shapes(85, **SESSIONS, wander=6, gap=4, noise="heavy", steps=8),
    "heavy": shapes(86, classes=3, wander=10, gap=4, noise="heavy"),
    "skewed": shapes(87, classes=3, features=4, wander=8, gap=4, noise="skewed"),
    "words": shapes(73, binary=True, features=300, gap=12, modes=4, wander=8, segments=20),
    "words of three": shapes(275, **WORDS, classes=3, modes=4, gap=12, wander=16),
    "words, six modes": shapes(274, **WORDS, modes=6, gap=10, wander=8, shares=[75, 25]),
    "words, two modes": shapes(276, **WORDS | {"features": 100}, modes=2, gap=10, wander=10),
    "words of four": shapes(277, **WORDS, classes=4, modes=3, gap=12, wander=10),
    "stars spin": shapes(90, **STARS, classes=2, size=20, gap=28, spin=5),
    "three stars spin": shapes(91, **STARS, classes=3, size=15, gap=21, spin=-8, wander=3),
    "crescents spin": shapes(92, shape="crescent", classes=3, size=5, gap=7, spin=6, **LARGE),
    "five arms": shapes(95, **ARMS, classes=3, size=15, gap=20, spin=6),
    "six arms travel": shapes(96, **ARMS | {"arms": 6}, size=20, gap=30, spin=-3, travel=40),
    "seven arms": shapes(97, **ARMS | {"arms": 7}, size=20, gap=26, spin=2, turn=2),
    "six modes": shapes(93, modes=6, gap=3.5, wander=5, **LARGE),
    "eight modes turn": shapes(94, modes=8, gap=3.5, turn=3, **LARGE),
    "path exchange": f"{SHORT} dataset.exchange=true dataset.path_seed=2",
    "path 28": f"{SHORT} dataset.features=5 dataset.path_seed=28",
    "path two modes": f"{SHORT} dataset.path_seed=31 dataset.modes=2",
    "penbased": f"{KEEL}penbased",
    "texture": f"{KEEL}texture",
    "ring": f"{KEEL}ring",
    "magic shuffled": f"{KEEL}magic dataset.order=shuffled stream.max_segments=20",
    "penbased shuffled": f"{KEEL}penbased dataset.order=shuffled stream.max_segments=20",
}
HELD_OUT = {
    "few gold": shapes(101, **SMALL, wander=10, gap=3.5, turn=2),
    "five modes": shapes(102, modes=5, classes=2, wander=4, turn=4, gap=4, **LARGE),
    "stars": shapes(103, shape="star", size=5, gap=5, wander=6, classes=3),
    "crescents travel": shapes(104, shape="crescent", travel=60, turn=4, gap=3.5),
    "fast turn": shapes(105, classes=5, turn=25, gap=4),
    "swell": shapes(106, classes=3, swell=1, turn=12, gap=4, features=4),
    "shares": shapes(107, classes=3, shares=[80, 15, 5], last_shares=[5, 15, 80], wander=6),
    "binary": shapes(108, **WIDE | {"features": 400, "wander": 12}),
    "jump": shapes(109, classes=4, features=5, jump=6, wander=4),
    "recurring": shapes(110, classes=2, cross=1.2, gap=5, periods=2),
    "still": shapes(111, gap=2.5, features=6, classes=4, segment_size=200, test_size=60),
    "wheel 20": shapes(140, **WHEEL, turn=-5, gap=6, swell=0.6, periods=2),
    "wheel 45": shapes(141, **WHEEL, turn=45, gap=7.5, swell=0.3),
    "wheel 60": shapes(142, **WHEEL, turn=60, gap=8.5, swell=0.2, travel=30),
    "wheel of two": shapes(143, **WHEEL | {"classes": 2}, modes=3, turn=14, gap=5),
    "wheel of three": shapes(149, **WHEEL | {"classes": 3}, turn=50, gap=7, swell=0.3),
    "column": shapes(144, **COLUMN, travel=130, gap=4.5),
    "column, back": shapes(145, **COLUMN, travel=25, gap=4, periods=2, segments=60),
    "three Gaussians turn": shapes(146, **MANY, modes=3, wander=8, turn=-10),
    "keys": shapes(147, **KEYS, gap=3.2, wander=8, **HUNDRED),
    "pair": shapes(148, **PAIR, gap=3.1, travel=120, turn=3),
    "three to one": shapes(151, **THREE_ONE, gap=3.3, wander=11, turn=3),
    "two to three": shapes(152, **FOUR | {"classes": 5}, joined=[0, 1, 0, 1, 0], wander=12),
    "wheel in steps": shapes(153, **WHEEL, turn=-15, gap=5.5, swell=0.5, steps=30),
    "column in steps": shapes(154, **COLUMN, travel=75, gap=4.5, steps=25),
    "wheel contracts": shapes(155, **WHEEL, turn=-14, gap=4.5, swell=-0.7),
    "sessions": shapes(156, **SESSIONS, wander=7, gap=4, noise="skewed", steps=8),
    "heavy": shapes(157, classes=4, features=3, wander=9, gap=4.5, noise="heavy", turn=4),
    "words": shapes(150, binary=True, features=400, gap=12, modes=4, shares=[70, 30], segments=20),
    "words of three": shapes(251, **WORDS, classes=3, modes=3, gap=12, wander=12),
    "words, five modes": shapes(252, **WORDS, modes=5, gap=11, wander=8, shares=[65, 35]),
    "stars spin": shapes(160, **STARS, classes=4, size=18, gap=26, spin=7),
    "crescents spin": shapes(161, shape="crescent", size=6, gap=8, spin=-5, travel=20, **LARGE),
    "three arms": shapes(163, **ARMS | {"arms": 3}, classes=3, size=15, gap=19, spin=10),
    "six arms": shapes(164, **ARMS | {"arms": 6}, classes=3, size=18, gap=24, spin=4, wander=5),
    "seven modes": shapes(162, modes=7, gap=3.5, wander=6, turn=2, **LARGE),
    "path exchange": f"{SHORT} dataset.exchange=true dataset.path_seed=5 dataset.features=4",
    "path 40": f"{SHORT} dataset.features=5 dataset.classes=4 dataset.path_seed=40",
    "path two modes": f"{SHORT} dataset.features=3 dataset.path_seed=33 dataset.modes=2",
    "segment": f"{KEEL}segment",
    "phoneme shuffled": f"{KEEL}phoneme dataset.order=shuffled stream.max_segments=20",
}
