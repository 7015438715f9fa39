import { setup } from "../../support/setup.ts";
const t = await setup();
Deno.test.afterAll(() => t.stop());
const CORE = "urn:ietf:params:scim:schemas:core:2.0:User";
Deno.test("probe", async () => {
  const maker = await t.actor({ permissions: ["manage:service-accounts", "provision:users", "read:users"] });
  const { body: account } = await maker.post("/api/v1/service-accounts", { name: "idp", permissions: ["provision:users", "read:users"], tenants: [maker.tenantId] });
  const idp = new (await import("../../support/http.ts")).HttpClient(t.url, account.secret);
  const show = (a: { status: number; body: unknown }) => console.log(a.status, JSON.stringify(a.body));
  show(await idp.get("/scim/v2/ServiceProviderConfig"));
  const made = await idp.post("/scim/v2/Users", { schemas: [CORE], userName: "Ann@example.com", externalId: "x1", name: { givenName: "Ann", familyName: "Lee" }, emails: [{ value: "ann@corp.test", type: "work", primary: true }], active: true, title: "Boss", "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": { department: "R&D" } }, { "content-type": "application/scim+json" });
  show(made);
  console.log([...made.headers]);
  show(await idp.get(`/scim/v2/Users?filter=${encodeURIComponent('userName eq "ann@EXAMPLE.com" and emails[type eq "work" and value sw "ann@"]')}&attributes=userName,name.givenName`));
  const patch = (ops: unknown[]) => idp.send("PATCH", `/scim/v2/Users/${made.body.id}`, { schemas: ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], Operations: ops });
  show(await patch([{ op: "Add", path: "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager", value: "m1" }, { op: "Replace", path: "active", value: "False" }, { op: "replace", value: { "name.givenName": "Anna", displayName: "A. Lee" } }]));
  show(await patch([{ op: "replace", path: "nope", value: 1 }]));
  show(await patch([{ op: "replace", path: 'emails[type eq "home"].value', value: "a@b.c" }]));
  show(await idp.post("/scim/v2/Groups", { schemas: ["urn:ietf:params:scim:schemas:core:2.0:Group"], displayName: "Clerks", members: [{ value: made.body.id }] }));
  show(await idp.get("/scim/v2/Groups"));
  show(await idp.post("/scim/v2/.search", { schemas: ["urn:ietf:params:scim:api:messages:2.0:SearchRequest"], filter: "id pr" }));
  show(await idp.get(`/scim/v2/Users/${made.body.id}`));
  show(await idp.get(`/scim/v2/Users/none`));
  show(await idp.get(`/scim/v2/Me`));
  show(await idp.delete(`/scim/v2/Users/${made.body.id}`));
  const N = 1000;
  for (let round = 0; round < 3; round++) {
    const Operations = Array.from({ length: N }, (_, n) => ({ method: "POST", path: "/Users", bulkId: `u${n}`, data: { schemas: [CORE], userName: `u${round}-${n}@example.com`, externalId: `${round}-${n}`, name: { givenName: "A", familyName: `B${n}` }, emails: [{ value: `u${round}-${n}@corp.com`, type: "work", primary: true }], title: "t", active: true } }));
    const started = performance.now();
    const bulk = await idp.post("/scim/v2/Bulk", { schemas: ["urn:ietf:params:scim:api:messages:2.0:BulkRequest"], Operations });
    const s = (performance.now() - started) / 1000;
    console.log(bulk.status, JSON.stringify(bulk.body).slice(0, 300), N / s, "users/s");
  }
});
