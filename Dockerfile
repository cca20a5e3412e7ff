# Two stages: the first builds the environment from pinned, hashed packages; the second carries only what runs.
FROM python:3.13-slim-bookworm AS build
WORKDIR /app
COPY requirements.lock ./
RUN python -m venv /venv \
    && /venv/bin/pip install --no-cache-dir --require-hashes -r requirements.lock
COPY manage.py ./
COPY sessions_app sessions_app
COPY templates templates
COPY static static
RUN SUTURE_DATA_DIR=/build SUTURE_SECRET_KEY=only-for-this-step SUTURE_STATIC_ROOT=/app/staticfiles \
    /venv/bin/python manage.py collectstatic --noinput --verbosity 0

FROM python:3.13-slim-bookworm
RUN useradd --uid 1000 --create-home suture && install -d -o suture -g suture -m 700 /data
COPY --from=build /venv /venv
COPY --from=build /app /app
WORKDIR /app
ENV PATH=/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    SUTURE_DATA_DIR=/data \
    SUTURE_STATIC_ROOT=/app/staticfiles \
    SUTURE_LOG_FORMAT=json
USER suture
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]
CMD ["python", "manage.py", "serve", "--host", "0.0.0.0", "--port", "8000"]
