import { sectionTexts } from "../shared/labels.ts";
import { counted, defineTexts } from "../shared/languages.ts";

export const fileTexts = sectionTexts({
  contentType: ["Type", "Tipo"],
  caption: ["Files, newest first", "Arquivos, os mais recentes primeiro"],
  upload: ["Upload a file", "Enviar um arquivo"],
  searchName: ["Search names", "Buscar nomes"],
  allFiles: ["All files", "Todos os arquivos"],
  mine: ["Uploaded by me", "Enviados por mim"],
  onLegalHold: ["Under legal hold", "Sob retenção legal"],
  product: ["Product files", "Arquivos do produto"],
  retention: ["Retention", "Conservação"],
  references: ["References", "Referências"],
  legalHold: ["Legal hold", "Retenção legal"],
  productFile: ["Product file", "Arquivo do produto"],
  noFiles: ["No files yet", "Ainda não há arquivos"],
  noFilesText: [
    "Files appear here when a user uploads one or a report is generated.",
    "Os arquivos aparecem aqui quando um usuário envia um ou é gerado um relatório.",
  ],
  declaredType: ["Declared type", "Tipo declarado"],
  detectedType: ["Detected type", "Tipo detetado"],
  sha256: ["SHA-256", "SHA-256"],
  createdBy: ["Uploaded by", "Enviado por"],
  confirmed: ["Upload confirmed", "Envio confirmado"],
  available: ["Available since", "Disponível desde"],
  signature: ["Signature", "Assinatura"],
  purgedAt: ["Purged", "Conteúdo excluído"],
  purgedBy: ["Purged by", "Conteúdo excluído por"],
  rejectionCode: ["Rejection code", "Código de rejeição"],
  scans: ["Scans", "Análises"],
  noScans: ["Not scanned yet", "Ainda não foi analisado"],
  scan: (n: number) => [`Scan ${n}`, `Análise ${n}`],
  confirmUpload: ["Confirm the upload", "Confirmar o envio"],
  uploadConfirmed: [
    "The upload was confirmed. The scan starts now.",
    "O envio foi confirmado. A análise começa agora.",
  ],
  scope: ["Referenced by", "Referenciado por"],
  owner: ["Owner id", "Id do proprietário"],
  release: ["Release", "Liberar"],
  releaseConfirm: (owner: string, name: string) => [
    `Release 1 reference, of ${owner}, to ${name}? Its owner may lose the file.`,
    `Liberar 1 referência, de ${owner}, a ${name}? O proprietário pode perder o arquivo.`,
  ],
  releasedByService: ["Ends with its owner", "Termina com o proprietário"],
  released: ["The reference was released.", "A referência foi liberada."],
  noReferences: ["No references", "Sem referências"],
  noReferencesText: [
    "A file without references is deleted when its retention ends.",
    "Um arquivo sem referências é excluído quando a conservação termina.",
  ],
  moreReferences: (n: number) => [`and ${n} more`, `e mais ${n}`],
  retentionClass: ["Class", "Classe"],
  retainUntil: ["Keep until", "Manter até"],
  retainHint: [
    "In your time zone. The retention can be extended, never shortened.",
    "No seu fuso horário. A conservação pode ser estendida, nunca encurtada.",
  ],
  reasonHint: ["The audit log records it.", "Fica no registro de auditoria."],
  retentionSaved: ["The retention was changed.", "A conservação foi alterada."],
  purge: ["Purge", "Excluir conteúdo"],
  purgeText: [
    "Deletes the content permanently. The file record is kept with the reason.",
    "Exclui o conteúdo para sempre. O registro do arquivo é mantido, com o motivo.",
  ],
  purgeReferenced: counted(
    [
      "reference uses this file. Release all references before you purge it.",
      "references use this file. Release all references before you purge it.",
    ],
    [
      "referência usa este arquivo. Libere todas as referências antes de excluir o conteúdo.",
      "referências usam este arquivo. Libere todas as referências antes de excluir o conteúdo.",
    ],
  ),
  purgeOnHold: [
    "The file is under legal hold. Release the hold before you purge it.",
    "O arquivo está sob retenção legal. Remova a retenção antes de excluir o conteúdo.",
  ],
  purgeConfirm: (name: string, place: string) => [
    `Delete the content of 1 file, ${name}, ${place} permanently?`,
    `Excluir para sempre o conteúdo de 1 arquivo, ${name}, ${place}?`,
  ],
  purgeReasonHint: [
    "Why the content is deleted. It is shown on the file record.",
    "Por que o conteúdo é excluído. É mostrado no registro do arquivo.",
  ],
  purged: ["The content was purged.", "O conteúdo foi excluído."],
  scannerUnavailable: [
    "The scan engine is unavailable. Uploaded files wait until it answers. Check that the scanner is running.",
    "O motor de análise está indisponível. Os arquivos enviados esperam até responder. Verifique se o antivírus está funcionando.",
  ],
  databaseAge: ["Signature age", "Idade das assinaturas"],
  stale: ["older than two days, or age unknown", "mais de dois dias, ou idade desconhecida"],
  oldest: (age: string) => [`oldest: ${age}`, `o mais antigo: ${age}`],
  noFilesWaiting: ["none", "nenhum"],
  hours: (n: string) => [`${n} h`, `${n} h`],
  unknown: ["unknown", "desconhecida"],
  // upload
  uploadButton: ["Upload", "Enviar"],
  cancelUpload: ["Cancel the upload", "Cancelar o envio"],
  isProduct: [
    "Product file: every tenant can read it",
    "Arquivo do produto: todos os inquilinos o podem ler",
  ],
  accepts: (types: string, most: string) => [
    `Accepts ${types}. At most ${most}.`,
    `Aceita ${types}. No máximo ${most}.`,
  ],
  needsScript: [
    "Uploading needs JavaScript, because the browser sends the file directly to storage. Enable JavaScript and reload the page.",
    "O envio precisa de JavaScript, porque o navegador envia o arquivo diretamente para o armazenamento. Ative o JavaScript e recarregue a página.",
  ],
  uploadText: [
    "The file is sent directly to storage and scanned. It becomes available if the scan finds nothing harmful.",
    "O arquivo é enviado diretamente para o armazenamento e analisado. Fica disponível se a análise não encontrar nada nocivo.",
  ],
  reserving: ["Reserving…", "Reservando…"],
  sending: ["{sent} of {total} · {percent} %", "{sent} de {total} · {percent} %"],
  confirming: ["Confirming…", "Confirmando…"],
  tooLarge: [
    "The file is larger than this profile allows ({most}). Choose a smaller file or another profile.",
    "O arquivo é maior do que este perfil permite ({most}). Escolha um arquivo menor ou outro perfil.",
  ],
  empty: ["The file is empty. Choose another file.", "O arquivo está vazio. Escolha outro arquivo."],
  cancelled: [
    "The upload was cancelled. What was sent is deleted when the reservation ends.",
    "O envio foi cancelado. O que foi enviado é excluído quando a reserva terminar.",
  ],
  sendFailed: [
    "Storage did not accept the file. Check the connection and try again.",
    "O armazenamento não aceitou o arquivo. Verifique a conexão e tente de novo.",
  ],
  progress: ["Upload progress", "Progresso do envio"],
});

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
  InfectedHeldText: (signature: string) => [
    `The scan found ${signature}. The content is deleted when the legal hold is released. This record is kept.`,
    `A análise encontrou ${signature}. O conteúdo é excluído quando a retenção legal for removida. Este registro é mantido.`,
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

/** Texts that explain legal holds, and when and why content is deleted. */
export const holdTexts = defineTexts({
  title: ["Under legal hold", "Sob retenção legal"],
  setBy: ["Set by", "Definida por"],
  setAt: ["since", "desde"],
  unknown: ["Who set it is not recorded.", "Não há registro de quem a definiu."],
  prevents: [
    "While it is set, nobody can purge the file, and the service does not delete it when its retention ends.",
    "Enquanto estiver definida, ninguém pode excluir o conteúdo, e o serviço não o exclui no fim da conservação.",
  ],
  releaseAdmin: [
    "Only a system administrator can release it: it protects the content also from people who manage the tenant's files.",
    "Só um administrador do sistema pode removê-la: ela protege o conteúdo também de quem administra os arquivos do inquilino.",
  ],
  releaseHere: [
    "You can release it here. The audit log records it.",
    "Você pode removê-la aqui. O registro de auditoria guarda a mudança.",
  ],
  setHint: [
    "Nobody can purge the file until the hold is released, and its retention does not delete it.",
    "Ninguém pode excluir o conteúdo até a retenção ser removida, e o fim da conservação não o exclui.",
  ],
  setWarning: [
    "You cannot release it again: that needs a system administrator.",
    "Você não poderá removê-la: isso exige um administrador do sistema.",
  ],
  purgesAt: ["Content is deleted", "Exclusão do conteúdo"],
  neverPermanent: ["Never: the file is permanent", "Nunca: o arquivo é permanente"],
  notHeld: ["Not while it is under legal hold", "Não enquanto estiver sob retenção legal"],
  notReferenced: ["Not while it has references", "Não enquanto tiver referências"],
  purgePermanent: [
    "Only a system administrator can purge a permanent file.",
    "Só um administrador do sistema pode excluir um arquivo permanente.",
  ],
  purgeProduct: [
    "Only a system administrator can purge a product file.",
    "Só um administrador do sistema pode excluir um arquivo de produto.",
  ],
  retainProduct: [
    "Only a system administrator can change the retention of a product file.",
    "Só um administrador do sistema pode mudar a conservação de um arquivo de produto.",
  ],
});
