# `ldpsql serve`: docker build -t ldpsql . && docker run -v reports:/data -p 127.0.0.1:8080:8080 ldpsql
# compose.yaml has a shuffler beside it.
# TLS ends at a proxy in front of it; analysts' tokens are refused on other connections (docs/collect.md).
FROM python:3.13-slim AS build
WORKDIR /src
COPY . .
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels ./device .

FROM python:3.13-slim
COPY --from=build /wheels /wheels
# Both wheels by their paths: no index is asked for packages of these names. Versions are those of the lock.
COPY requirements.lock /wheels/
RUN python -m pip install --no-cache-dir --constraint /wheels/requirements.lock \
        /wheels/ldpsql_device-*.whl "$(echo /wheels/ldpsql-*.whl)[serve,sign]" \
    && rm -r /wheels \
    && useradd --create-home --uid 10001 collector \
    && install -d -o collector -m 700 /data
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8080
HEALTHCHECK CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/healthz', timeout=5)"]
ENTRYPOINT ["ldpsql"]
CMD ["serve", "--new", "--db", "/data/reports.duckdb", "--host", "0.0.0.0", "--port", "8080"]
