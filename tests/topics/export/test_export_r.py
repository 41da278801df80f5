"""nlpkit export --to r of a structural topic model: R goes on with η, Σ and γ of the fit."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from nlpkit.platform.runs.runs import open_run
from nlpkit.topics.base.tables import read_arrays
from tests.command_line import NEWS, run_cli


@pytest.mark.parametrize("prevalence", [("--prevalence", "label + s(date, 5)"), ()])
def test_r_has_the_posteriors_of_stm(prevalence: tuple[str, ...], tmp_path: Path) -> None:
    run, folder = tmp_path / "run", tmp_path / "for-r"
    run_cli("stm", NEWS, "--k", "3", *prevalence, "--iterations", "5", "-q", "-o", run)
    run_cli("export", run, "--to", "r", "-o", folder)
    arrays = read_arrays(open_run(run, ["stm"]))
    eta, sigma, X, gamma = (
        pl.read_csv(folder / f"{n}.csv", infer_schema_length=None) for n in ("eta", "sigma", "X", "prior_gamma")
    )
    np.testing.assert_array_equal(eta[:, 1:].to_numpy(), arrays["eta"])
    np.testing.assert_array_equal(sigma.to_numpy(), arrays["sigma"])
    assert X.columns[1:] == gamma["term"].to_list()
    away = arrays["eta"] - X[:, 1:].to_numpy() @ gamma[:, 1:].to_numpy()
    np.testing.assert_allclose(
        arrays["sigma"] - away.T @ away / len(away), arrays["noise"], atol=1e-9
    )  # ν of R's "Global"
    if shutil.which("Rscript") is None:
        return
    code = """
      source("load.R")
      mu <- matrix(t(model$mu$mu), nrow(eta), ncol(eta), byrow = ncol(model$mu$mu) == 1)
      stopifnot(
        inherits(model, "STM"), all.equal(model$theta, exp(cbind(eta, 0)) / rowSums(exp(cbind(eta, 0)))),
        all.equal(rowSums(exp(model$beta$logbeta[[1]])), rep(1, K)), length(model$vocab) == model$settings$dim$V,
        identical(dim(model$settings$covariates$X), dim(X)), all(model$settings$dim$wcounts$x > 0)
      )
      cat(format((sigma - crossprod(eta - mu) / nrow(eta))[1, 2], digits = 15))"""
    done = subprocess.run(["Rscript", "-e", code], cwd=folder, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == pytest.approx(arrays["noise"][0, 1], abs=1e-9)
