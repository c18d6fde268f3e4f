# The container form of the Action. Checks find what two thirds of real ledgers
# need; add to it with FROM this image and your own tools.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY cmd ./cmd
COPY action ./action
COPY approval ./approval
COPY gates ./gates
COPY ghreport ./ghreport
COPY internal ./internal
ARG VERSION=
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w -X main.release=${VERSION}" -o /out/gatesworn ./cmd/gatesworn

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends bash ca-certificates coreutils curl git make nodejs openssh-client python3-minimal \
 && apt-get clean \
 && rm -rf /var/lib/apt/lists/* /usr/share/doc/* /usr/share/man/* /var/cache/debconf/*-old \
 && groupadd --gid 59173 gatesworn-check \
 && useradd --uid 59173 --gid 59173 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin gatesworn-check
COPY --from=build /out/gatesworn /usr/local/bin/gatesworn
# It starts as root, as GitHub requires, and runs every check as gatesworn-check.
ENTRYPOINT ["/usr/local/bin/gatesworn", "action", "--container"]
