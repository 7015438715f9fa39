import fc from "fast-check";
import assert from "node:assert/strict";
import { MAX_PARTS, partMistakes, partSize, planParts } from "../../../domain/files/parts.ts";
import {
  declaredTypeAllowed,
  type FileProfile,
  fileProfiles,
  normalizeContentType,
  profileOverrides,
  typeAllowed,
} from "../../../domain/files/profiles.ts";

const profiles = fileProfiles();

function profile(name: string, from = profiles): FileProfile {
  const found = from.get(name);
  assert.ok(found, `profile ${name}`);
  return found;
}

Deno.test("declared types are compared without case and parameters, and aliases are equal", () => {
  assert.equal(normalizeContentType(" Text/CSV ; charset=UTF-8"), "text/csv");
  assert.ok(declaredTypeAllowed(profile("image"), "IMAGE/JPG"));
  assert.ok(declaredTypeAllowed(profile("archive"), "application/x-zip-compressed"));
  assert.ok(!declaredTypeAllowed(profile("image"), "image/svg+xml"));
  assert.ok(!declaredTypeAllowed(profile("image"), ""));
});

const OOXML = "application/vnd.openxmlformats-officedocument.";
const decisions: [profile: string, declared: string, detected: string, allowed: boolean][] = [
  ["document", "application/pdf", "application/pdf", true],
  ["document", "text/csv; charset=utf-8", "text/plain", true],
  ["document", "application/vnd.ms-excel", "text/plain", true],
  ["document", "text/plain", "text/html", false],
  ["document", "application/msword", "application/x-cfb", false],
  ["document", `${OOXML}wordprocessingml.document`, "application/zip", false],
  ["image", "image/png", "image/jpeg", true],
  ["image", "image/png", "text/plain", false],
  ["image", "image/png", "image/svg+xml", false],
  ["image", "image/png", "image/bmp", false],
  ["image", "image/png", "application/octet-stream", false],
  ["image", "image/png", "application/x-empty", false],
  ["archive", "application/zip", "application/java-archive", false],
  ["report", "text/csv", "text/plain", true],
  ["report", "text/html", "text/html", true],
  ["report", "text/html", "text/plain", false],
  ["report", "application/pdf", "text/plain", false],
];

Deno.test("the detected type decides, with the declared one, whether a profile allows content", () => {
  for (const [name, declared, detected, allowed] of decisions) {
    assert.equal(typeAllowed(profile(name), declared, detected), allowed, `${name} ${declared} ${detected}`);
  }
});

Deno.test("configuration changes single settings of a profile and adds profiles", () => {
  const overridden = fileProfiles(profileOverrides.parse(
    '{"image": {"maxBytes": 1000}, "data": {"maxBytes": 5, "contentTypes": ["Application/JSON", "text/csv"]}}',
  ));
  assert.deepEqual(profile("image", overridden), { ...profile("image"), maxBytes: 1000 });
  const data = profile("data", overridden);
  const contentTypes = ["application/json", "text/csv"];
  assert.deepEqual(data, { name: "data", maxBytes: 5, contentTypes, serviceOnly: false });
  assert.ok(typeAllowed(data, "application/json", "text/plain"));
  assert.ok(!typeAllowed(data, "text/plain", "text/plain"));
});

Deno.test("invalid configuration is rejected with a reason", () => {
  const cases: [string, RegExp][] = [
    ["{", /expected JSON/],
    ['{"data": {"maxBytes": 5}}', /a new profile needs maxBytes and contentTypes/],
    ['{"image": {"maxBytes": 0}}', /maxBytes/],
    ['{"image": {"maxBytes": 5368709121}}', /<=5368709120/],
    ['{"image": {"contentTypes": ["png"]}}', /expected a media type/],
    ['{"image": {"maxSize": 5}}', /maxSize/],
    ["[]", /expected record/],
  ];
  for (const [text, reason] of cases) assert.throws(() => profileOverrides.parse(text), reason, text);
});

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
const LARGEST = 5_000 * GIB; // 1,000 parts of 5 GiB

Deno.test("any size is split into parts that the storage accepts, and the parts add up to the size", () => {
  const asked = fc.oneof(fc.constant(true as const), fc.integer({ min: 1, max: MAX_PARTS }));
  const sizes = fc.oneof(fc.integer({ min: 1, max: GIB }), fc.integer({ min: 1, max: LARGEST }));
  fc.assert(fc.property(sizes, asked, (sizeBytes, parts) => {
    const plan = planParts(sizeBytes, parts);
    if (plan === null) {
      assert.notEqual(parts, true, "left to itself the service finds a plan");
      const each = sizeBytes / Number(parts);
      assert.ok(each <= 5 * MIB || each > 5 * GIB - 1, `${parts} parts of ${each} bytes would do`);
      return;
    }
    if (parts !== true) assert.equal(plan.count, parts);
    assert.ok(plan.count <= MAX_PARTS);
    const [first, last] = [partSize(plan, sizeBytes, 1), partSize(plan, sizeBytes, plan.count)];
    assert.ok(plan.count === 1 || (first >= 5 * MIB && first <= 5 * GIB));
    assert.ok(last >= 1 && last <= first);
    assert.equal((plan.count - 1) * plan.partBytes + last, sizeBytes);
  }));
});

Deno.test("an error names missing, repeated and surplus parts, and long lists are cut", () => {
  const part = (partNumber: number) => ({ partNumber, etag: "e" });
  assert.equal(partMistakes([part(2), part(1)], 2), null);
  assert.deepEqual(partMistakes([part(3), part(1), part(1)], 2), {
    "parts.0.partNumber": ["expected one of the parts 1 to 2"],
    "parts.2.partNumber": ["part 1 is named twice"],
    parts: ["expected all 2 parts; missing: 2"],
  });
  assert.deepEqual(partMistakes([part(1)], 100)?.parts, [
    "expected all 100 parts; missing: 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 89 more",
  ]);
});
