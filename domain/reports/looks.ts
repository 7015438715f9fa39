/** Logo, colours and footer of a document. */
export interface Looks {
  productName: string;
  logo: {
    contentType: "image/png" | "image/jpeg";
    content: Uint8Array;
    width: number;
    height: number;
  } | null;
  /** `#rrggbb`, as the other colour. */
  primaryColour: string;
  textColour: string;
  footer: string;
}

export const DEFAULT_LOOKS: Looks = {
  productName: "Steward",
  logo: null,
  primaryColour: "#24415f",
  textColour: "#1a2230",
  footer: "",
};
