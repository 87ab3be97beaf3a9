"""Wrong command lines."""

import pytest

from stochlwta_tf.cli import duplicates, evaluate, timing, train

pytestmark = pytest.mark.badinput
LONG = "x" * 300

TRAIN = [
    (["--nonsense"], "unrecognized arguments: --nonsense"),
    (["--config"], "argument --config: expected one argument"),
    ([], "--config is needed, or --resume with --out"),
    (["--config", ""], "--config must not be empty"),
    (["--config", "."], "cannot read the configuration: Is a directory"),
    (["--config", LONG], "cannot read the configuration: not found in"),
    (["--config", f"{LONG}/a.yaml"], "cannot read the configuration: File name too long"),
    (["--config", "none/a.yaml"], "none/a.yaml: cannot read the configuration: No such file or directory"),
    (["--config", "sinusoid_defualt"], "Did you mean 'sinusoid_default'?"),
    (["--config", "tiny.yaml", "--out", "tiny.yaml"], "tiny.yaml exists and is not a run: choose another folder with --out."),
    (["--config", "tiny.yaml", "--out", "tiny.yaml/run"], "tiny.yaml/run: cannot be written: Not a directory"),
    (["--config", "tiny.yaml", "--out", LONG], "cannot be written: File name too long"),
    (["--config", "tiny.yaml", "--out", ""], "--out must not be empty"),
    (["--config", "tiny.yaml", "--out", "."], ". exists and is not a run"),
    (["--resume", "--out", "none"], "none/config.yaml: cannot read the configuration: No such file or directory"),
    (["--config", "tiny.yaml", "--show", "--set", "task.way=3"], "unknown key task.way."),
    (["--suite", "nope"], "nope"),
    (["--suite", ""], "--suite must not be empty"),
    (
        ["--suite", "table5", "--set", "seed=1"],
        "--suite can only be combined with --budget, --columns, --rows, --seeds, --jobs",
    ),
    (
        ["--suite", "table5", "--budget", "10x"],
        "--budget must be minutes, hours or iterations, such as 10m, 0.5h or 500it. Received: '10x'.",
    ),
    (["--suite", "table5", "--budget", "0m"], "--budget must be minutes"),
    (["--suite", "table5", "--budget", f"{'9' * 400}m"], "--budget must be minutes"),
    (["--suite", "table5", "--seeds", "one"], "argument --seeds: invalid int value: 'one'"),
    (["--suite", "table5", "--seeds", "-1"], "--seeds must be 0 or more. Received: -1."),
    (["--suite", "table5", "--columns", "nope", "--out", "runs"], "nope"),
    (["--config", "tiny.yaml", "--budget", "10m"], "--budget, --columns, --rows, --seeds, --jobs and --launcher need --suite"),
]
SETTINGS = [
    ("=3", "--set needs key=value"),
    (".x=3", "--set needs key=value"),
    ("task.=3", "--set needs key=value"),
    ("a.b.c=3", "--set needs key=value"),
    ("task=", "task is missing. Allowed: task.name="),
    ("task=3", "task must be a section with a name"),
    ("task.name=[sinusoid]", "unknown value task.name=['sinusoid']"),
    ("task.name=sinusiod", "Did you mean 'sinusoid'?"),
    ("task.shot=[1", "not valid YAML"),
    ("task.shot=2020-99-99", "task.shot must be a valid integer"),
    ("task.shot=!!int x", "not valid YAML"),
    ("task.shot=2020-01-01", 'task.shot must be a valid integer. Received: task.shot="2020-01-01"'),
    (f"seed={'9' * 5000}", "not valid YAML"),
    ("seed=-1", "seed must be greater than or equal to 0. Received: seed=-1."),
    ("seed=4294967296", "seed must be less than 4294967296"),
    ("seed=true", "seed must be a valid integer. Received: seed=true."),
    ("seed=1.5", "seed must be a valid integer. Received: seed=1.5."),
    ("name=", "name must be a valid string. Received: name=null."),
    ("name=a/b", "name must match pattern"),
    ("name=..", "name must match pattern"),
    ("network.units=[0]", "network.units.0 must be greater than or equal to 1"),
    ("network.units=4", "network.units"),
    ("network.units=[4.5]", "network.units.0 must be a valid integer"),
    ("learner.inner_lr=.nan", "learner.inner_lr"),
    ("learner.inner_lr=.inf", "learner.inner_lr"),
    ("learner.inner_lr=0", "learner.inner_lr must be greater than 0"),
    ("optimizer=adam", "optimizer"),
    ("optimizer={name: adan, learning_rate: 1}", "unknown value optimizer.name='adan'"),
    ("training.iterations=50", "training.iterations must be a multiple of training.log_every=100. Received: training.iterations=50."),
    ("training.keep_best=true", "training.keep_best needs training.validate_every above 0."),
    ("training.validate_every=150", "training.validate_every must be a multiple of training.log_every=100"),
    ("evaluation.inner_step_counts=[-1]", "evaluation.inner_step_counts.0 must be greater than or equal to 0"),
    ("runtime.intra_op_threads=0", "runtime.intra_op_threads must be greater than or equal to 1"),
    ("runtime.device=tpu", "runtime.device must be 'auto', 'cpu' or 'gpu'"),
    ("nonsense=1", "unknown key nonsense"),
]
EVALUATE = [
    ([], "--run is needed"),
    (["--run", ""], "--run must not be empty"),
    (["--run", "tiny.yaml"], "tiny.yaml has no trained model (model.keras)"),
    (["--run", LONG], "has no trained model"),
    (["--run", "RUN", "--tasks", "1"], "evaluation.tasks must be greater than or equal to 2. Received: evaluation.tasks=1."),
    (["--run", "RUN", "--tasks", ""], "--tasks must not be empty"),
    (["--run", "RUN", "--protocol", "nope"], "nope"),
    (["--run", "RUN", "--protocol", "paper"], "sinusoid tasks only have the protocol standard. Received: --protocol paper."),
    (["--run", "RUN", "--protocol", "standard,"], "--protocol"),
    (["--run", "RUN", "--out", "none.txt"], "must end in .json"),
    (["--run", "RUN", "--out", "tiny.yaml/a.json"], "tiny.yaml/a.json: cannot be written: File exists."),
    (["--run", "RUN", "--set", "evaluation.draws=0"], "evaluation.draws must be greater than or equal to 1"),
    (["--run", "RUN", "--set", "evaluation.batch=0"], "evaluation.batch must be greater than or equal to 1"),
    (["--run", "RUN", "--set", "task.shot=0"], "task.shot must be greater than or equal to 1"),
    (["--run", "RUN", "--active", "--audit"], "--active cannot be combined with --audit or --protocol"),
    (["--run", "RUN", "--active", "--set", "active_learning.pool=0"], "active_learning.pool must be greater than or equal to 1"),
    (["--run", "RUN", "--active", "--set", "active_learning.strategy=entropy"], "active_learning.strategy"),
    (["--run", "RUN", "--audit"], "sinusoid tasks only have the protocol standard."),
    (["--run", "RUN", "--reliability", "--out", "a.png"], "--reliability"),
    (["--run", "RUN", "--winners", "--out", "a.png"], "the network has no competing units."),
    (["--winners", "--out", "a.png"], "--run"),
    (["--table", "nope"], "nope"),
    (["--table", "5", "--format", "pdf"], "--format must be markdown, csv, latex. Received: --format pdf."),
    (["--table", "5", "--runs", "none"], "none"),
    (["--table", "5", "--figure", "2"], "one report at a time. Received: --table --figure."),
    (["--table", "5", "--run", "RUN"], "--table takes many runs: --runs DIR instead of --run."),
    (["--figure", "9z"], "--figure must be"),
    (["--figure", "2"], "a figure needs --out FILE.png or FILE.svg. Received: --out None."),
    (["--figure", "2", "--out", "a.pdf"], "a figure needs --out FILE.png or FILE.svg. Received: --out a.pdf."),
    (["--page", "--runs", "none"], "none"),
]
OTHERS = [
    (timing.main, [], "give either --suite or --config; with --rate one --config"),
    (timing.main, ["--config", "none.yaml"], "none.yaml: cannot read the configuration"),
    (timing.main, ["--config", "tiny.yaml", "--rounds", "1"], "--rounds must be at least 2"),
    (timing.main, ["--config", "tiny.yaml", "--rounds", "many"], "invalid int value: 'many'"),
    (timing.main, ["--config", "tiny.yaml", "--out", "tiny.yaml/a.json"], "tiny.yaml/a.json: cannot be written: File exists"),
    (duplicates.main, ["--config", "tiny.yaml"], "only image tasks can be checked for duplicates. Received: task.name=sinusoid."),
    (duplicates.main, ["--config", "none.yaml"], "none.yaml: cannot read the configuration"),
]


@pytest.mark.parametrize(("arguments", "message"), TRAIN)
def test_train(here, refused, arguments, message):
    assert message in refused(train.main, arguments)
    assert [path.name for path in here.iterdir()] == ["tiny.yaml"]


@pytest.mark.parametrize(("setting", "message"), SETTINGS)
def test_settings(here, refused, setting, message):
    assert message in refused(train.main, ["--config", "tiny.yaml", "--set", setting])
    assert [path.name for path in here.iterdir()] == ["tiny.yaml"]


@pytest.mark.parametrize(("arguments", "message"), EVALUATE)
def test_evaluate(here, run, refused, arguments, message):
    assert message in refused(evaluate.main, [str(run.path) if a == "RUN" else a for a in arguments])
    assert [path.name for path in here.iterdir()] == ["tiny.yaml"]


@pytest.mark.parametrize(("main", "arguments", "message"), OTHERS)
def test_other_commands(here, refused, main, arguments, message):
    assert message in refused(main, arguments)
