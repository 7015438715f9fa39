FROM denoland/deno:2.9.6 AS packages
WORKDIR /app
COPY deno.json deno.lock main.ts ./
COPY infra infra
COPY domain domain
COPY routes routes
COPY scripts scripts
# Installs the locked packages without the embedded Postgres. Those of tests and benchmarks belong to their own workspace
# members, which are not in the image. "manual" prevents Deno from installing packages at start.
RUN sed -i '/"workspace"/d; s/"nodeModulesDir": "auto"/"nodeModulesDir": "manual"/' deno.json \
 && deno remove embedded-postgres \
 && deno install --frozen --entrypoint main.ts infra/pictures/picture_worker.ts routes/console/console.tsx scripts/*.ts \
 && deno cache main.ts infra/pictures/picture_worker.ts routes/console/console.tsx scripts/*.ts

FROM denoland/deno:2.9.6
WORKDIR /app
ENV STEWARD_ENV=production HOST=0.0.0.0 PORT=8000 NO_COLOR=1 DENO_NO_UPDATE_CHECK=1
# Owned by root: the service cannot change its own code.
COPY --from=packages /app /app
# The compiled modules, so that they are not compiled at every start.
COPY --from=packages /deno-dir/gen /deno-dir/gen
USER deno
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s CMD ["deno", "eval", "const r = await fetch(`http://127.0.0.1:${Deno.env.get('PORT')}/healthz`); Deno.exit(r.ok ? 0 : 1)"]
# The flags of `deno task start`. Runs Deno directly, so that signals reach the service.
CMD ["deno", "run", "--v8-flags=--max-semi-space-size=4,--heap-growing-percent=50", "--no-prompt", "--cached-only", "--allow-net", "--allow-env", "--allow-read=.,/run/secrets,/usr/bin/ldd", "--allow-ffi=node_modules", "--allow-sys=hostname,cpus,uid,networkInterfaces", "main.ts"]
