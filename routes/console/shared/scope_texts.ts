import { defineTexts } from "./languages.ts";

/** Names of scopes, and the texts that explain them. */
export const scopeTexts = defineTexts({
  service: ["Whole service", "Todo o serviço"],
  serviceHint: [
    "This page is the same for all tenants.",
    "Esta página é a mesma para todos os inquilinos.",
  ],
  none: ["No tenant", "Sem inquilino"],
  within: (tenant: string) => [`in ${tenant}`, `em ${tenant}`],
  everywhere: ["for all tenants", "para todos os inquilinos"],
  ofService: ["of the service itself", "do próprio serviço"],
  looking: (tenant: string) => [
    `You look at ${tenant} without working in it.`,
    `Você vê ${tenant} sem trabalhar nele.`,
  ],
  own: ["Service only", "Só o serviço"],
  ownHint: [
    "Only what belongs to no tenant. Choose a tenant to see what belongs to it.",
    "Só o que não pertence a nenhum inquilino. Escolha um inquilino para ver o que pertence a ele.",
  ],
  products: ["Product files", "Arquivos do produto"],
  productsHint: [
    "Files that all tenants share. Choose a tenant to see its files.",
    "Arquivos que todos os inquilinos compartilham. Escolha um inquilino para ver os arquivos dele.",
  ],
  group: (name: string) => [`${name} and its tenants`, `${name} e seus inquilinos`],
});
