"""Command lines that are refused."""


def one_line(err):
    """Whether standard error is the one line that a refusal prints."""
    return err.startswith("ldpkit: ") and err.count("\n") == 1 and err.endswith("\n")


def refused(call, rows):
    """Rows of a command line and a part of its message that are not refused in one line with
    status 2."""
    wrong = []
    for text, message in rows:
        status, out, err = call(text)
        if (status, out) != (2, "") or not one_line(err) or message not in err:
            wrong.append((text, status, out, err))
    return wrong
