import { sectionTexts } from "./labels.ts";

export const dataTexts = sectionTexts({
  title: ["Personal data", "Dados pessoais"],
  tenantTitle: ["Data of the tenant", "Dados do inquilino"],
  exportData: ["Export data", "Exportar dados"],
  exportHint: [
    "A ZIP file with everything that is stored, without file contents and secrets. Only you can download it, for 7 days.",
    "Um arquivo ZIP com tudo o que está salvo, sem conteúdo de arquivos nem segredos. Só você o pode baixar, durante 7 dias.",
  ],
  exportBegun: ["The export has begun.", "A exportação começou."],
  eraseUser: ["Erase…", "Apagar…"],
  eraseTenant: ["Erase…", "Apagar…"],
  eraseHint: [
    "Names, addresses, messages and sessions are deleted for good. The user cannot sign in any more, and the email is free again. The audit log keeps the id.",
    "Nomes, endereços, mensagens e sessões são apagados de vez. O usuário deixa de poder entrar e o e-mail fica livre. O registro de auditoria mantém o id.",
  ],
  eraseTenantHint: [
    "Everything in the tenant is deleted for good: files, messages, jobs, roles, and the users who belong to no other tenant. Deactivate the tenant first.",
    "Tudo no inquilino é apagado de vez: arquivos, mensagens, tarefas, papéis e os usuários que não pertencem a outro inquilino. Desative primeiro o inquilino.",
  ],
  eraseConfirm: (name: string) => [
    `Erase the data of ${name}? This cannot be undone.`,
    `Apagar os dados de ${name}? Não é possível desfazer.`,
  ],
  eraseBegun: ["The erasure has begun.", "A exclusão dos dados começou."],
  reason: ["Reason", "Motivo"],
  reasonHint: ["Written to the audit log.", "Fica no registro de auditoria."],
  name: ["Name of the tenant", "Nome do inquilino"],
  nameHint: ["Repeat the name as a confirmation.", "Repita o nome como confirmação."],
  requests: ["Exports and erasures", "Exportações e exclusões"],
  none: ["Nothing was exported or erased yet.", "Ainda nada foi exportado ou apagado."],
  kind: ["What", "O quê"],
  status: ["Status", "Estado"],
  asked: ["Asked for", "Pedido em"],
  file: ["File", "Arquivo"],
  download: ["Download", "Baixar"],
  UserExport: ["Export", "Exportação"],
  UserErasure: ["Erasure", "Exclusão"],
  TenantExport: ["Export", "Exportação"],
  TenantErasure: ["Erasure", "Exclusão"],
});
