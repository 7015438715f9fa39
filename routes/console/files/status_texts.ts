import { defineTexts } from "../shared/languages.ts";

/** What a file's state is called, and means. */
export const fileStatusTexts = defineTexts({
  Pending: "Awaiting upload",
  Scanning: "Being examined",
  Available: "Available",
  Infected: "Infected",
  Failed: "Unreadable",
  Purged: "Purged",
  PendingText:
    "A place is reserved, and the content has not been uploaded and confirmed yet. The reservation ends by itself.",
  ScanningText:
    "The content lies in storage and is being examined. Nobody can download it before that is done.",
  AvailableText:
    "The content was examined: nothing harmful was found, and its type is allowed. It can be downloaded.",
  InfectedText: (signature: string) =>
    `The examination found ${signature}. The content was destroyed; this record stays.`,
  FailedText: "The content could not be read in any attempt to examine it. It cannot be downloaded.",
  purgedByPerson: "The content was destroyed at someone's request. This record stays as a tombstone.",
  "job:tipo-reprovado":
    "The examination found a type that the profile does not take. The content was destroyed; this record stays.",
  "job:archive-limits":
    "The archive could not be scanned up to its end. The last scan below says why. The content was destroyed; this record stays.",
  "job:upload-expired": "Nothing was uploaded and confirmed before the reservation ended. This record stays.",
  "job:size-mismatch": "The upload had another size than was reserved. It was discarded; this record stays.",
  "job:retention-expired":
    "Nothing held the file any longer and its time was over. The content was destroyed; this record stays.",
}, {
  Pending: "À espera do envio",
  Scanning: "Em exame",
  Available: "Disponível",
  Infected: "Infetado",
  Failed: "Ilegível",
  Purged: "Eliminado",
  PendingText:
    "O lugar está reservado, mas o conteúdo ainda não foi enviado e confirmado. A reserva termina por si.",
  ScanningText:
    "O conteúdo está guardado e a ser examinado. Ninguém o pode descarregar antes de o exame terminar.",
  AvailableText:
    "O conteúdo foi examinado: não se encontrou nada de nocivo e o tipo é permitido. Pode ser descarregado.",
  InfectedText: (signature: string) =>
    `O exame encontrou ${signature}. O conteúdo foi destruído; este registo permanece.`,
  FailedText: "Não foi possível ler o conteúdo em nenhuma tentativa de exame. Não pode ser descarregado.",
  purgedByPerson: "O conteúdo foi destruído a pedido de alguém. Este registo permanece como lápide.",
  "job:tipo-reprovado":
    "O exame encontrou um tipo que o perfil não aceita. O conteúdo foi destruído; este registo permanece.",
  "job:archive-limits":
    "Não foi possível examinar o arquivo até ao fim. O último exame abaixo diz porquê. O conteúdo foi destruído; este registo permanece.",
  "job:upload-expired": "Nada foi enviado e confirmado antes do fim da reserva. Este registo permanece.",
  "job:size-mismatch":
    "O envio tinha um tamanho diferente do reservado. Foi descartado; este registo permanece.",
  "job:retention-expired":
    "Já nada retinha o ficheiro e o seu prazo terminou. O conteúdo foi destruído; este registo permanece.",
});

/** What an examination came to. */
export const scanVerdictLabels = defineTexts({
  Clean: "Nothing found",
  Infected: "Infected",
  TypeRejected: "Rejected",
  Error: "No verdict",
}, {
  Clean: "Nada encontrado",
  Infected: "Infetado",
  TypeRejected: "Rejeitado",
  Error: "Sem veredicto",
});

/** What a retention class is called, and means. */
export const retentionTexts = defineTexts({
  Temporary: "Temporary",
  Standard: "Standard",
  Permanent: "Permanent",
  TemporaryText: "kept until its date",
  StandardText: "kept while anything references it, and until its date if it has one",
  PermanentText: "kept for good",
}, {
  Temporary: "Temporário",
  Standard: "Normal",
  Permanent: "Permanente",
  TemporaryText: "mantido até à data indicada",
  StandardText: "mantido enquanto algo o referir, e até à data indicada se houver uma",
  PermanentText: "mantido para sempre",
});

/** Refusals of the file registry, for people who do not know its codes. */
export const fileErrorTexts = defineTexts({
  FILE_STILL_REFERENCED_CONFLICT:
    "Something still holds this file. Release every reference first, or have its owners release it.",
  FILE_LEGAL_HOLD_CONFLICT: "The file is under legal hold. It cannot be purged before the hold is released.",
  FILE_RETENTION_SHORTENED_UNPROCESSABLE:
    "What was promised stays promised: retention can be lengthened, not shortened.",
  FILE_NOT_AVAILABLE_CONFLICT: "The file is not available: only an examined file can be used so.",
  FILE_INFECTED_CONFLICT: "The file is infected; its content was destroyed.",
  FILE_PURGED_CONFLICT: "The file is purged; its content was destroyed.",
  FILE_NOT_UPLOADED_CONFLICT: "The content has not arrived in storage. Upload it, then confirm.",
  FILE_UPLOAD_EXPIRED_CONFLICT: "The reservation has ended. Upload the file again.",
  FILE_SIZE_MISMATCH_UNPROCESSABLE: "The upload had another size than was reserved and was discarded.",
  FILE_TOO_LARGE_UNPROCESSABLE: "The file is larger than its profile takes.",
  FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE: "The profile does not take files of this type.",
  FILE_PROFILE_UNKNOWN: "There is no such profile for uploads.",
  FILE_STORAGE_UNAVAILABLE: "Storage does not answer right now. Try again in a moment.",
  MISSING_PERMISSION: "Your rights do not reach that far.",
  PRECONDITION_FAILED: "Someone changed the file meanwhile. Look at it again before you change it.",
}, {
  FILE_STILL_REFERENCED_CONFLICT:
    "Ainda há algo que retém este ficheiro. Liberte primeiro todas as referências, ou peça aos donos que o façam.",
  FILE_LEGAL_HOLD_CONFLICT:
    "O ficheiro está sob retenção legal. Não pode ser eliminado antes de esta ser levantada.",
  FILE_RETENTION_SHORTENED_UNPROCESSABLE:
    "O que foi prometido mantém-se: a conservação pode ser alargada, não encurtada.",
  FILE_NOT_AVAILABLE_CONFLICT:
    "O ficheiro não está disponível: só um ficheiro examinado pode ser usado assim.",
  FILE_INFECTED_CONFLICT: "O ficheiro está infetado; o conteúdo foi destruído.",
  FILE_PURGED_CONFLICT: "O ficheiro foi eliminado; o conteúdo foi destruído.",
  FILE_NOT_UPLOADED_CONFLICT: "O conteúdo não chegou ao armazenamento. Envie-o e confirme depois.",
  FILE_UPLOAD_EXPIRED_CONFLICT: "A reserva terminou. Envie o ficheiro outra vez.",
  FILE_SIZE_MISMATCH_UNPROCESSABLE: "O envio tinha um tamanho diferente do reservado e foi descartado.",
  FILE_TOO_LARGE_UNPROCESSABLE: "O ficheiro é maior do que o perfil aceita.",
  FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE: "O perfil não aceita ficheiros deste tipo.",
  FILE_PROFILE_UNKNOWN: "Não há nenhum perfil com esse nome para envios.",
  FILE_STORAGE_UNAVAILABLE: "O armazenamento não responde neste momento. Tente daqui a pouco.",
  MISSING_PERMISSION: "Os seus direitos não chegam para isso.",
  PRECONDITION_FAILED: "Alguém alterou o ficheiro entretanto. Veja-o outra vez antes de o alterar.",
});
