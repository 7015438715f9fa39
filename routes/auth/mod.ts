import type { Platform } from "../../domain/shared/platform.ts";
import type { Endpoint } from "../shared/endpoint.ts";
import { signInRoutes } from "./sign_in.ts";

/** Every route of sign-in. */
export const authRoutes = (p: Platform): Endpoint[] => [...signInRoutes(p)];
