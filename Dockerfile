FROM denoland/deno:2.9.6 AS packages
WORKDIR /app
COPY deno.json deno.lock ./
COPY main.ts ./
COPY infra infra
COPY domain domain
COPY routes routes
COPY scripts scripts
# Brings the packages the service and its scripts import, so that nothing is fetched when a container starts.
RUN deno install --frozen --entrypoint main.ts scripts/migrate.ts scripts/create-admin.ts scripts/jobs.ts scripts/dead-letters.ts

FROM denoland/deno:2.9.6
WORKDIR /app
ENV STEWARD_ENV=production HOST=0.0.0.0 PORT=8000 NO_COLOR=1
COPY --from=packages --chown=deno:deno /app /app
USER deno
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s CMD ["deno", "eval", "const r = await fetch(`http://127.0.0.1:${Deno.env.get('PORT')}/healthz`); Deno.exit(r.ok ? 0 : 1)"]
CMD ["task", "--quiet", "start"]
