import { sectionTexts } from "../shared/labels.ts";

/** Texts of the switcher between the whole service and tenants. */
export const switcherTexts = sectionTexts({
  title: ["Switch tenant", "Mudar de inquilino"],
  scope: ["Scope", "Escopo"],
  search: ["Search tenants by name or id", "Buscar inquilinos por nome ou id"],
  whole: ["Whole service", "Todo o serviço"],
  member: ["Switch to it", "Mudar para ele"],
  other: ["Work in this tenant…", "Trabalhar neste inquilino…"],
  see: ["See its data here", "Ver os dados dele aqui"],
  nothing: ["No tenant matches.", "Nenhum inquilino corresponde."],
  more: (count: number) => [
    `${count} more match. Type more of the name.`,
    `Mais ${count} correspondem. Digite mais do nome.`,
  ],
  look: ["Without working in it", "Sem trabalhar nele"],
  lookHint: ["These lists show only this tenant:", "Estas listas mostram só este inquilino:"],
  joinTenant: ["Work in this tenant", "Trabalhar neste inquilino"],
  joinHint: [
    "To work in a tenant you need a place in it, with roles. Your other sessions end, because your access changes. This browser goes on in the tenant.",
    "Para trabalhar em um inquilino, você precisa de um lugar nele, com papéis. Suas outras sessões terminam, porque seu acesso muda. Este navegador continua no inquilino.",
  ],
  joinRoles: (tenant: string) => [`Your roles in ${tenant}`, `Seus papéis em ${tenant}`],
  joined: (tenant: string) => [
    `You belong to ${tenant} now and work in it.`,
    `Agora pertence a ${tenant} e trabalha nele.`,
  ],
});
