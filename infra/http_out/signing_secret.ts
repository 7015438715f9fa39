/** The form of a signing secret (Standard Webhooks). */
export const SIGNING_SECRET = /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/;
export const SIGNING_SECRET_EXPECTED = "expected whsec_ and the base64 of 24 to 64 bytes";
