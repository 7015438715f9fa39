import assert from "node:assert/strict";
import { pngImage } from "../../support/images.ts";
import type { Actor, TestService } from "../../support/setup.ts";

/** A user of a tenant with a logo, a colour and a footer of its own. */
export async function branded(t: TestService): Promise<Actor> {
  const admin = await t.actor({ permissions: ["manage:settings"] });
  const looks = { productName: "Acme & Co", primaryColour: "#0b6e4f", footer: "1 Road, Lisbon" };
  const image = { "content-type": "image/png" };
  const answers = [
    await admin.put("/api/v1/tenant-looks", looks),
    await admin.put("/api/v1/tenant-looks/logo", pngImage(400, 100), image),
  ];
  for (const { status, body } of answers) assert.equal(status, 200, JSON.stringify(body));
  return admin;
}
