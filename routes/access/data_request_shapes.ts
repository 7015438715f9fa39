import { z } from "zod";
import { DATA_REQUEST_KINDS, DATA_REQUEST_STATUSES } from "../../domain/user_data/data_request.ts";
import { requiredName } from "../../domain/shared/name.ts";
import { requiredText } from "../shared/validation.ts";

export const DataRequestDto = z.object({
  id: z.guid(),
  kind: z.enum(DATA_REQUEST_KINDS),
  userId: z.guid().nullable(),
  tenantId: z.guid().nullable(),
  status: z.enum(DATA_REQUEST_STATUSES),
  step: z.string().nullable().meta({ description: "What is done now: the name of an area" }),
  reason: z.string().nullable(),
  fileId: z.guid().nullable().meta({
    description:
      "File of a completed export. Only the user who asked for it can read and download it, for 7 days",
  }),
  errorMessage: z.string().nullable(),
  requestedBy: z.guid().nullable(),
  createdAt: z.iso.datetime(),
  completedAt: z.iso.datetime().nullable(),
}).meta({ id: "DataRequestDto" });

export const AcceptedDataRequestDto = DataRequestDto.extend({
  statusUrl: z.string().meta({ description: "Path of the status" }),
}).meta({ id: "AcceptedDataRequestDto" });

export const EraseRequest = z.object({
  reason: requiredText(500).meta({ description: "Written to the audit log" }),
}).meta({ id: "EraseRequest" });

export const EraseTenantRequest = EraseRequest.extend({
  name: requiredName(200).meta({ description: "The name of the tenant, as a confirmation" }),
}).meta({ id: "EraseTenantRequest" });
