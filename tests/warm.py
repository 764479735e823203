"""Compiles every loop once, so that no test waits for a compiler.

PYTHONPATH=tests python tests/warm.py
Two segments of two streams under every method. What is compiled stays in `__pycache__`.
"""

import support

from sdsl import experiment

SHORT = ("data.root=null", "stream.max_segments=2", "learner.pretrain.steps=5", "eval.context=true")


def warm() -> None:
    for file in sorted((support.ROOT / "conf" / "method").glob("*.yaml")):
        for dataset in ("satimage", "ug_2c_2d"):  # many classes and features, few
            words = f"method={file.stem}", f"dataset={dataset}", *SHORT
            experiment.run(experiment.setup(support.config(*words)), (0,))


if __name__ == "__main__":
    warm()
