import { z } from "zod";
import { byPerson, forBound, forSelf, signedIn } from "../../domain/rights/checks.ts";
import { listDevices, registerDevice, removeDevice } from "../../domain/notifications/devices.ts";
import { requireOwner } from "../../domain/notifications/ownership.ts";
import { noContent, ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { optionalText, uuid } from "../../domain/shared/shapes.ts";
import { UserDeviceDto } from "./shapes.ts";

const endpoint = endpointsIn("Notifications");

const path = "/api/v1/user-notifications/devices";
const access = forBound(forSelf(byPerson(signedIn)));
const query = z.object({ userId: uuid });
const RegisterDeviceRequest = z.object({
  token: z.string().regex(/^[!-~]{1,4096}$/, "expected a device token without blanks"),
  platform: optionalText(50),
}).meta({ id: "RegisterDeviceRequest" });

/** Devices that receive a user's push messages. */
export const deviceRoutes = [
  endpoint(`POST ${path}`, {
    id: "registerUserDevice",
    access,
    query,
    summary: "Register a device for a user's push messages; a known token is moved to this user",
    content: { json: RegisterDeviceRequest },
    creates: "atomically",
    answers: { 200: { description: "The device", schema: UserDeviceDto } },
    problems: ["NOTIFICATION_INAPP_FORBIDDEN"],
    async run({ db, caller, query: { userId }, call }) {
      requireOwner(caller, userId);
      return ok(await registerDevice(db, userId, caller.boundTo, await call.readJson(RegisterDeviceRequest)));
    },
  }),
  endpoint(`GET ${path}`, {
    id: "listUserDevices",
    access,
    query,
    summary: "List a user's devices",
    answers: { 200: { description: "The devices, oldest first", schema: z.array(UserDeviceDto) } },
    problems: ["NOTIFICATION_INAPP_FORBIDDEN"],
    async run({ db, caller, query: { userId } }) {
      requireOwner(caller, userId);
      return ok(await listDevices(db, userId, caller.boundTo));
    },
  }),
  endpoint(`DELETE ${path}/{id}`, {
    id: "removeUserDevice",
    access,
    query,
    params: z.object({ id: uuid }),
    summary: "Remove a device of a user",
    answers: { 204: { description: "The device is removed" } },
    problems: ["NOTIFICATION_INAPP_FORBIDDEN", "NOTIFICATION_DEVICE_NOT_FOUND"],
    async run({ db, caller, params, query: { userId } }) {
      requireOwner(caller, userId);
      await removeDevice(db, userId, caller.boundTo, params.id);
      return noContent();
    },
  }),
] as const;
