import { defineTexts } from "../shared/languages.ts";

/** Labels and explanations of file statuses and of the service's purge reasons. */
export const fileStatusTexts = defineTexts({
  PendingText: [
    "The file is reserved, but its content is not uploaded and confirmed yet. The reservation ends automatically.",
    "O arquivo está reservado, mas o conteúdo ainda não foi enviado e confirmado. A reserva termina automaticamente.",
  ],
  ScanningText: [
    "The content is in storage and is being scanned. It cannot be downloaded before the scan ends.",
    "O conteúdo está no armazenamento e está sendo analisado. Não pode ser baixado antes de a análise terminar.",
  ],
  AvailableText: [
    "The scan found nothing harmful, and the type is allowed. The file can be downloaded.",
    "A análise não encontrou nada nocivo e o tipo é permitido. O arquivo pode ser baixado.",
  ],
  InfectedText: (signature: string) => [
    `The scan found ${signature}. The content was deleted. This record is kept.`,
    `A análise encontrou ${signature}. O conteúdo foi excluído. Este registro é mantido.`,
  ],
  FailedText: [
    "Every scan attempt failed to read the content. It cannot be downloaded. Upload the file again.",
    "Nenhuma tentativa de análise conseguiu ler o conteúdo. Não pode ser baixado. Envie o arquivo de novo.",
  ],
  purgedByPerson: [
    "A user purged the content. This record is kept with the reason.",
    "Um usuário excluiu o conteúdo. Este registro é mantido com o motivo.",
  ],
  "job:tipo-reprovado": [
    "The scan found a type that the profile does not allow. The content was deleted. This record is kept.",
    "A análise encontrou um tipo que o perfil não permite. O conteúdo foi excluído. Este registro é mantido.",
  ],
  "job:archive-limits": [
    "The archive could not be scanned completely. The last scan below gives the reason. The content was deleted. This record is kept.",
    "Não foi possível analisar o arquivo compactado por completo. A última análise abaixo indica o motivo. O conteúdo foi excluído. Este registro é mantido.",
  ],
  "job:upload-expired": [
    "The upload was not confirmed before the reservation ended. This record is kept.",
    "O envio não foi confirmado antes do fim da reserva. Este registro é mantido.",
  ],
  "job:size-mismatch": [
    "The uploaded size differs from the reserved size. The content was deleted. This record is kept.",
    "O tamanho enviado é diferente do reservado. O conteúdo foi excluído. Este registro é mantido.",
  ],
  "job:tenant-erased": [
    "The content was deleted with the tenant. This record is kept.",
    "O conteúdo foi excluído com o inquilino. Este registro é mantido.",
  ],
  "job:data-erased": [
    "The content was deleted because the user's data was erased. This record is kept.",
    "O conteúdo foi excluído porque os dados do usuário foram excluídos. Este registro é mantido.",
  ],
  "job:retention-expired": [
    "The file had no references and its retention ended. The content was deleted. This record is kept.",
    "O arquivo não tinha referências e a conservação terminou. O conteúdo foi excluído. Este registro é mantido.",
  ],
});

/** Labels and explanations of retention classes. */
export const retentionTexts = defineTexts({
  Temporary: ["Temporary", "Temporário"],
  Standard: ["Standard", "Normal"],
  Permanent: ["Permanent", "Permanente"],
  TemporaryText: ["kept until its date", "mantido até a data indicada"],
  StandardText: [
    "kept while it has references, and until its date if it has one",
    "mantido enquanto tiver referências, e até a data indicada se houver uma",
  ],
  PermanentText: ["kept permanently", "mantido para sempre"],
});
