// What a process may not do on Deno Deploy: write files, start programs, and read queues of Deno KV.
for (const name of ["write", "run"] as const) Deno.permissions.revokeSync({ name });
Reflect.deleteProperty(Deno.Kv.prototype, "listenQueue");
