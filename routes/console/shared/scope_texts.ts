import { defineTexts } from "./languages.ts";

/** Names of scopes, and the texts that explain them. */
export const scopeTexts = defineTexts({
  service: "Whole service",
  serviceHint: "All tenants, and the service itself",
  own: "Service only",
  ownHint: "Only what belongs to no tenant. Choose a tenant to see what belongs to it.",
  products: "Product files",
  productsHint: "Files that all tenants share. Choose a tenant to see its files.",
  tenantHint: (name: string) => `Only ${name}`,
  group: (name: string) => `${name} and its tenants`,
  scope: "Shows",
}, {
  service: "Todo o serviço",
  serviceHint: "Todos os inquilinos e o próprio serviço",
  own: "Só o serviço",
  ownHint: "Só o que não pertence a nenhum inquilino. Escolha um inquilino para ver o que pertence a ele.",
  products: "Arquivos do produto",
  productsHint:
    "Arquivos que todos os inquilinos compartilham. Escolha um inquilino para ver os arquivos dele.",
  tenantHint: (name: string) => `Só ${name}`,
  group: (name: string) => `${name} e seus inquilinos`,
  scope: "Mostra",
});
