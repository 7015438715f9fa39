// On Deno Deploy a process may not write files, start programs, or read queues of Deno KV.
for (const name of ["write", "run"] as const) Deno.permissions.revokeSync({ name });
Reflect.deleteProperty(Deno.Kv.prototype, "listenQueue");
