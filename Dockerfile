# The book and the module, for machines with Docker; everything is installed while the image is made, and nothing afterwards.
#
#   docker build -t ldpkit .
#   docker run --rm --network none ldpkit                           # make book SCALE=smoke
#   docker run --rm --network none ldpkit make test
#   docker run --rm -p 127.0.0.1:8888:8888 -p '[::1]:8888:8888' ldpkit make lab IP=0.0.0.0
#
# A host without IPv6 needs the first of these two ports alone.
#
# A digest pins an image to one processor; who archives an image writes its own here: python:3.12-slim-bookworm@sha256:...
FROM python:3.12-slim-bookworm

RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core git make \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home reader

USER reader
WORKDIR /home/reader/ldpkit
COPY --chown=reader:reader . .
RUN make .venv/ready packages

CMD ["make", "book", "SCALE=smoke"]
