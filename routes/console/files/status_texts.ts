import { defineTexts } from "../shared/languages.ts";

/** Labels and explanations of file statuses and of the service's purge reasons. */
export const fileStatusTexts = defineTexts({
  Pending: "Awaiting upload",
  Scanning: "Scanning",
  Available: "Available",
  Infected: "Infected",
  Failed: "Scan failed",
  Rejected: "Rejected",
  Expired: "Expired",
  Purged: "Purged",
  PendingText:
    "The file is reserved, but its content is not uploaded and confirmed yet. The reservation ends automatically.",
  ScanningText:
    "The content is in storage and is being scanned. It cannot be downloaded before the scan ends.",
  AvailableText: "The scan found nothing harmful, and the type is allowed. The file can be downloaded.",
  InfectedText: (signature: string) =>
    `The scan found ${signature}. The content was deleted. This record is kept.`,
  FailedText:
    "Every scan attempt failed to read the content. It cannot be downloaded. Upload the file again.",
  purgedByPerson: "A user purged the content. This record is kept with the reason.",
  "job:tipo-reprovado":
    "The scan found a type that the profile does not allow. The content was deleted. This record is kept.",
  "job:archive-limits":
    "The archive could not be scanned completely. The last scan below gives the reason. The content was deleted. This record is kept.",
  "job:upload-expired": "The upload was not confirmed before the reservation ended. This record is kept.",
  "job:size-mismatch":
    "The uploaded size differs from the reserved size. The content was deleted. This record is kept.",
  "job:tenant-erased": "The content was deleted with the tenant. This record is kept.",
  "job:data-erased": "The content was deleted because the user's data was erased. This record is kept.",
  "job:retention-expired":
    "The file had no references and its retention ended. The content was deleted. This record is kept.",
}, {
  Pending: "Aguardando o envio",
  Scanning: "Em análise",
  Available: "Disponível",
  Infected: "Infectado",
  Failed: "Análise com falha",
  Rejected: "Rejeitado",
  Expired: "Expirado",
  Purged: "Conteúdo excluído",
  PendingText:
    "O arquivo está reservado, mas o conteúdo ainda não foi enviado e confirmado. A reserva termina automaticamente.",
  ScanningText:
    "O conteúdo está no armazenamento e está sendo analisado. Não pode ser baixado antes de a análise terminar.",
  AvailableText: "A análise não encontrou nada nocivo e o tipo é permitido. O arquivo pode ser baixado.",
  InfectedText: (signature: string) =>
    `A análise encontrou ${signature}. O conteúdo foi excluído. Este registro é mantido.`,
  FailedText:
    "Nenhuma tentativa de análise conseguiu ler o conteúdo. Não pode ser baixado. Envie o arquivo de novo.",
  purgedByPerson: "Um usuário excluiu o conteúdo. Este registro é mantido com o motivo.",
  "job:tipo-reprovado":
    "A análise encontrou um tipo que o perfil não permite. O conteúdo foi excluído. Este registro é mantido.",
  "job:archive-limits":
    "Não foi possível analisar o arquivo compactado por completo. A última análise abaixo indica o motivo. O conteúdo foi excluído. Este registro é mantido.",
  "job:upload-expired": "O envio não foi confirmado antes do fim da reserva. Este registro é mantido.",
  "job:size-mismatch":
    "O tamanho enviado é diferente do reservado. O conteúdo foi excluído. Este registro é mantido.",
  "job:tenant-erased": "O conteúdo foi excluído com o inquilino. Este registro é mantido.",
  "job:data-erased":
    "O conteúdo foi excluído porque os dados do usuário foram apagados. Este registro é mantido.",
  "job:retention-expired":
    "O arquivo não tinha referências e a conservação terminou. O conteúdo foi excluído. Este registro é mantido.",
});

/** Results of a scan. */
export const scanVerdictLabels = defineTexts({
  Clean: "Clean",
  Infected: "Infected",
  TypeRejected: "Type rejected",
  Error: "Error",
}, {
  Clean: "Limpo",
  Infected: "Infectado",
  TypeRejected: "Tipo rejeitado",
  Error: "Erro",
});

/** Labels and explanations of retention classes. */
export const retentionTexts = defineTexts({
  Temporary: "Temporary",
  Standard: "Standard",
  Permanent: "Permanent",
  TemporaryText: "kept until its date",
  StandardText: "kept while it has references, and until its date if it has one",
  PermanentText: "kept permanently",
}, {
  Temporary: "Temporário",
  Standard: "Normal",
  Permanent: "Permanente",
  TemporaryText: "mantido até à data indicada",
  StandardText: "mantido enquanto tiver referências, e até à data indicada se houver uma",
  PermanentText: "mantido para sempre",
});
