"""Running jobs, here or elsewhere: the only room that names Hydra's launchers, joblib, Ray and submitit."""
