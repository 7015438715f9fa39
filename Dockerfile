FROM denoland/deno:2.9.6 AS packages
WORKDIR /app
COPY deno.json deno.lock main.ts ./
COPY infra infra
COPY domain domain
COPY routes routes
COPY scripts scripts
# "manual" prevents Deno from installing packages at start. The workspace's members are not in the image. The service runs on
# glibc, so that it needs no module for musl.
RUN sed -i '/"workspace"/d; s/"nodeModulesDir": "auto"/"nodeModulesDir": "manual"/' deno.json \
 && deno remove embedded-postgres \
 && deno install --frozen --entrypoint main.ts scripts/*.ts scripts/image/bundle.ts \
 && deno run -A scripts/image/bundle.ts \
 && deno run -A --v8-flags=--max-semi-space-size=4,--heap-growing-percent=50 scripts/image/fill_code_cache.ts \
 && deno run -A scripts/image/reduce.ts \
 && rm -rf node_modules && deno install && rm -rf /deno-dir/npm /deno-dir/gen node_modules/.deno/*musl* node_modules/.deno/*esbuild*

FROM denoland/deno:2.9.6
WORKDIR /app
ENV STEWARD_ENV=production HOST=0.0.0.0 PORT=8000 NO_COLOR=1 DENO_NO_UPDATE_CHECK=1
# Owned by root: the service cannot change its own code.
COPY --from=packages /app /app
# Compiled code, so that nothing is compiled at every start.
COPY --from=packages --chown=deno:deno /deno-dir /deno-dir
USER deno
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s CMD ["deno", "eval", "const r = await fetch(`http://127.0.0.1:${Deno.env.get('PORT')}/healthz`); Deno.exit(r.ok ? 0 : 1)"]
# The flags of `deno task start`. Runs Deno directly, so that signals reach the service.
CMD ["deno", "run", "--v8-flags=--max-semi-space-size=4,--heap-growing-percent=50", "--no-prompt", "--cached-only", "--allow-net", "--allow-env", "--allow-read=.,/run/secrets,/usr/bin/ldd", "--allow-ffi=node_modules", "--allow-sys=hostname,cpus,uid,networkInterfaces", ".bundle/main.js"]
