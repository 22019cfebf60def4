"""What several test files share."""

import pytest

from ldpkit import cli


@pytest.fixture
def call(capsys):
    """Run a command line inside this process: exit status, standard output, standard error."""

    def call(text):
        with pytest.raises(SystemExit) as caught:
            cli.main(text.split())
        captured = capsys.readouterr()
        return caught.value.code, captured.out, captured.err

    return call
