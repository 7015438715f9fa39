import { defineTexts } from "../shared/languages.ts";

/** Labels and explanations of file statuses and of the service's purge reasons. */
export const fileStatusTexts = defineTexts({
  Pending: "Awaiting upload",
  Scanning: "Scanning",
  Available: "Available",
  Infected: "Infected",
  Failed: "Scan failed",
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
  "job:retention-expired":
    "The file had no references and its retention ended. The content was deleted. This record is kept.",
}, {
  Pending: "À espera do envio",
  Scanning: "Em análise",
  Available: "Disponível",
  Infected: "Infetado",
  Failed: "Análise falhada",
  Purged: "Conteúdo eliminado",
  PendingText:
    "O ficheiro está reservado, mas o conteúdo ainda não foi enviado e confirmado. A reserva termina automaticamente.",
  ScanningText:
    "O conteúdo está no armazenamento e está a ser analisado. Não pode ser descarregado antes de a análise terminar.",
  AvailableText:
    "A análise não encontrou nada nocivo e o tipo é permitido. O ficheiro pode ser descarregado.",
  InfectedText: (signature: string) =>
    `A análise encontrou ${signature}. O conteúdo foi eliminado. Este registo é mantido.`,
  FailedText:
    "Nenhuma tentativa de análise conseguiu ler o conteúdo. Não pode ser descarregado. Envie o ficheiro de novo.",
  purgedByPerson: "Um utilizador eliminou o conteúdo. Este registo é mantido com o motivo.",
  "job:tipo-reprovado":
    "A análise encontrou um tipo que o perfil não permite. O conteúdo foi eliminado. Este registo é mantido.",
  "job:archive-limits":
    "Não foi possível analisar o arquivo por completo. A última análise abaixo indica o motivo. O conteúdo foi eliminado. Este registo é mantido.",
  "job:upload-expired": "O envio não foi confirmado antes do fim da reserva. Este registo é mantido.",
  "job:size-mismatch":
    "O tamanho enviado é diferente do reservado. O conteúdo foi eliminado. Este registo é mantido.",
  "job:retention-expired":
    "O ficheiro não tinha referências e a conservação terminou. O conteúdo foi eliminado. Este registo é mantido.",
});

/** Results of a scan. */
export const scanVerdictLabels = defineTexts({
  Clean: "Clean",
  Infected: "Infected",
  TypeRejected: "Type rejected",
  Error: "Error",
}, {
  Clean: "Limpo",
  Infected: "Infetado",
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

/** Explanations of the file API's error codes. */
export const fileErrorTexts = defineTexts({
  FILE_STILL_REFERENCED_CONFLICT:
    "The file still has references. Release all of them first, or ask their owners to do so.",
  FILE_LEGAL_HOLD_CONFLICT: "The file is under legal hold. Release the hold first.",
  FILE_RETENTION_SHORTENED_UNPROCESSABLE:
    "The retention can be extended, not shortened. Choose a later date or a longer class.",
  FILE_NOT_AVAILABLE_CONFLICT: "The file is not available yet. Wait until its scan ends.",
  FILE_INFECTED_CONFLICT: "The file is infected. Its content was deleted. Upload a clean file.",
  FILE_PURGED_CONFLICT: "The content of the file was purged. Upload the file again.",
  FILE_NOT_UPLOADED_CONFLICT: "The content is not in storage yet. Upload it, then confirm the upload.",
  FILE_UPLOAD_EXPIRED_CONFLICT: "The reservation has ended. Upload the file again.",
  FILE_SIZE_MISMATCH_UNPROCESSABLE:
    "The uploaded size differs from the reserved size, so the content was deleted. Upload the file again.",
  FILE_TOO_LARGE_UNPROCESSABLE:
    "The file is larger than its profile allows. Choose a smaller file or another profile.",
  FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE:
    "The profile does not allow files of this type. Choose another file or another profile.",
  FILE_PROFILE_UNKNOWN: "This upload profile does not exist. Choose another profile.",
  FILE_STORAGE_UNAVAILABLE: "Storage is unavailable. Try again in a moment.",
  MISSING_PERMISSION: "You do not have the permission for this. Ask an administrator for it.",
  PRECONDITION_FAILED: "Someone else changed this file. Reload the page, then change it again.",
}, {
  FILE_STILL_REFERENCED_CONFLICT:
    "O ficheiro ainda tem referências. Liberte-as todas primeiro ou peça-o aos donos.",
  FILE_LEGAL_HOLD_CONFLICT: "O ficheiro está sob retenção legal. Levante-a primeiro.",
  FILE_RETENTION_SHORTENED_UNPROCESSABLE:
    "A conservação pode ser alargada, não encurtada. Escolha uma data posterior ou uma classe mais longa.",
  FILE_NOT_AVAILABLE_CONFLICT: "O ficheiro ainda não está disponível. Espere que a análise termine.",
  FILE_INFECTED_CONFLICT: "O ficheiro está infetado. O conteúdo foi eliminado. Envie um ficheiro limpo.",
  FILE_PURGED_CONFLICT: "O conteúdo do ficheiro foi eliminado. Envie o ficheiro de novo.",
  FILE_NOT_UPLOADED_CONFLICT:
    "O conteúdo ainda não está no armazenamento. Envie-o e depois confirme o envio.",
  FILE_UPLOAD_EXPIRED_CONFLICT: "A reserva terminou. Envie o ficheiro de novo.",
  FILE_SIZE_MISMATCH_UNPROCESSABLE:
    "O tamanho enviado é diferente do reservado, por isso o conteúdo foi eliminado. Envie o ficheiro de novo.",
  FILE_TOO_LARGE_UNPROCESSABLE:
    "O ficheiro é maior do que o perfil permite. Escolha um ficheiro mais pequeno ou outro perfil.",
  FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE:
    "O perfil não permite ficheiros deste tipo. Escolha outro ficheiro ou outro perfil.",
  FILE_PROFILE_UNKNOWN: "Este perfil de envio não existe. Escolha outro perfil.",
  FILE_STORAGE_UNAVAILABLE: "O armazenamento está indisponível. Tente de novo daqui a pouco.",
  MISSING_PERMISSION: "Não tem a permissão necessária. Peça-a a um administrador.",
  PRECONDITION_FAILED: "Alguém alterou este ficheiro. Recarregue a página e altere-o de novo.",
});
