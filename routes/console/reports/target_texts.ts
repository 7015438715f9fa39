import { sectionTexts } from "../shared/labels.ts";

/** Texts of the pages of report targets and of the secret of report webhooks. */
export const targetTexts = sectionTexts({
  targets: ["Report targets", "Destinos de relatórios"],
  caption: ["Where reports can be delivered, by name", "Onde os relatórios podem ser entregues, por nome"],
  none: ["No report targets yet", "Ainda não há destinos"],
  noneText: [
    "Add a bucket of another system or a Slack channel. Reports and schedules can then be delivered there.",
    "Adicione um bucket de outro sistema ou um canal do Slack. Relatórios e agendamentos podem então ser entregues aí.",
  ],
  newBucket: ["New bucket", "Novo bucket"],
  newChat: ["New Slack webhook", "Novo webhook do Slack"],
  name: ["Name", "Nome"],
  s3: ["S3 bucket", "Bucket S3"],
  slack: ["Slack webhook", "Webhook do Slack"],
  place: ["Place", "Local"],
  endpoint: ["Endpoint", "Endereço"],
  endpointHint: [
    "Address of the S3 API, such as https://s3.eu-west-3.amazonaws.com",
    "Endereço da API S3, como https://s3.eu-west-3.amazonaws.com",
  ],
  region: ["Region", "Região"],
  bucket: ["Bucket", "Bucket"],
  prefix: ["Folder", "Pasta"],
  prefixHint: [
    "Paths of deliveries are below this folder. It may be empty.",
    "Os caminhos das entregas ficam abaixo desta pasta. Pode ficar vazia.",
  ],
  pathStyle: [
    "The bucket is in the path, not in the host name",
    "O bucket está no caminho, não no nome da máquina",
  ],
  accessKeyId: ["Access key id", "Id da chave de acesso"],
  secretAccessKey: ["Secret access key", "Chave de acesso secreta"],
  webhookUrlHint: [
    "Of Slack, or of a service that takes the same messages. It is a secret and is not shown again.",
    "Do Slack ou de um serviço que aceite as mesmas mensagens. É um segredo e não volta a ser mostrado.",
  ],
  keptSecret: ["Empty: the stored value stays.", "Vazio: o valor salvo é mantido."],
  test: ["Test", "Testar"],
  tested: ["The test succeeded: the target can be reached.", "O teste deu certo: o destino está acessível."],
  testFailed: (reason: string) => [`The test failed: ${reason}`, `O teste falhou: ${reason}`],
  created: ["The target was created.", "O destino foi criado."],
  saved: ["The target was saved.", "O destino foi salvo."],
  removeConfirm: (name: string) => [
    `Delete the target “${name}”? Deliveries of schedules that use it will fail.`,
    `Excluir o destino “${name}”? As entregas de agendamentos que o usam vão falhar.`,
  ],
  removed: ["The target was deleted.", "O destino foi excluído."],
  // the secret of report webhooks
  webhookSecret: ["Secret of report webhooks", "Segredo dos webhooks de relatórios"],
  ownSecret: [
    "Webhooks of reports are signed with the tenant's own secret.",
    "Os webhooks de relatórios são assinados com o segredo do próprio inquilino.",
  ],
  sharedSecret: [
    "Webhooks of reports are signed with the secret of the service. Create one of your own.",
    "Os webhooks de relatórios são assinados com o segredo do serviço. Crie um próprio.",
  ],
  secretCreated: ["Created", "Criado"],
  oldSecret: ["The previous secret also signs until", "O segredo anterior também assina até"],
  rotate: ["New secret", "Novo segredo"],
  rotateConfirm: [
    "Create a new secret? The current one also signs for 24 hours.",
    "Criar um novo segredo? O atual também assina durante 24 horas.",
  ],
  rotated: ["New secret of report webhooks", "Novo segredo dos webhooks de relatórios"],
  back: ["Back to the targets", "Voltar aos destinos"],
});
