import { z } from "zod";
import { DataRequest } from "../../domain/user_data/data_request.ts";
import { requiredName } from "../../domain/shared/name.ts";
import { requiredText } from "../../domain/shared/shapes.ts";

export const AcceptedDataRequestDto = DataRequest.extend({
  statusUrl: z.string().meta({ description: "Path of the status" }),
}).meta({ id: "AcceptedDataRequestDto" });

export const EraseRequest = z.object({
  reason: requiredText(500).meta({ description: "Written to the audit log" }),
}).meta({ id: "EraseRequest" });

export const EraseTenantRequest = EraseRequest.extend({
  name: requiredName(200).meta({ description: "The name of the tenant, as a confirmation" }),
}).meta({ id: "EraseTenantRequest" });
