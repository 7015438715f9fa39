import { sectionTexts } from "../shared/labels.ts";

/** Texts of the looks and the sender addresses. */
export const looksTexts = sectionTexts({
  title: ["Looks", "Aparência"],
  intro: [
    "How mail, hosted pages and documents of the tenant look. An empty field uses the value of the service.",
    "A aparência das mensagens, páginas e documentos do inquilino. Um campo vazio usa o valor do serviço.",
  ],
  productName: ["Product name", "Nome do produto"],
  primaryColour: ["Primary colour", "Cor principal"],
  colourHint: ["Such as #1f4fd8: buttons and bars.", "Por exemplo #1f4fd8: botões e barras."],
  textColour: ["Text on the primary colour", "Texto sobre a cor principal"],
  textColourHint: [
    "Leave it empty to have a readable one chosen.",
    "Deixe vazio para que seja escolhida uma cor legível.",
  ],
  footer: ["Footer", "Rodapé"],
  saved: ["The looks were saved.", "A aparência foi salva."],
  logo: ["Logo", "Logotipo"],
  logoHint: [
    "PNG or JPEG, at most 256 KiB and 2000 × 2000 pixels.",
    "PNG ou JPEG, no máximo 256 KiB e 2000 × 2000 pixels.",
  ],
  chooseLogo: ["Image", "Imagem"],
  setLogo: ["Upload the logo", "Enviar o logotipo"],
  logoSet: ["The logo was saved.", "O logotipo foi salvo."],
  removeLogo: ["Remove the logo", "Remover o logotipo"],
  removeLogoConfirm: [
    "Remove the logo? Mail and pages then show the product name.",
    "Remover o logotipo? As mensagens e páginas mostram então o nome do produto.",
  ],
  logoRemoved: ["The logo was removed.", "O logotipo foi removido."],
  size: ["Size", "Tamanho"],
  sampleTitle: ["Your order is on its way", "Seu pedido está a caminho"],
  sampleText: ["This is how a mail of the tenant looks.", "É esta a aparência de uma mensagem do inquilino."],
  sampleButton: ["Follow the order", "Acompanhar o pedido"],
  senders: ["Sender addresses", "Endereços de remetente"],
  sendersIntro: [
    "Addresses that the tenant sends mail from. Prove each with a record in the DNS of its domain, or with a link mailed to it.",
    "Endereços de que o inquilino envia mensagens. Comprove cada um com um registro no DNS do domínio ou com um link enviado para ele.",
  ],
  caption: ["Sender addresses, oldest first", "Endereços de remetente, os mais antigos primeiro"],
  address: ["Address", "Endereço"],
  method: ["Proof", "Comprovação"],
  defaultSender: ["default", "padrão"],
  record: ["TXT record", "Registro TXT"],
  verify: ["Check now", "Verificar agora"],
  mailAgain: ["Mail a new link", "Enviar novo link"],
  checked: ["The address was checked.", "O endereço foi verificado de novo."],
  makeDefault: ["Use as default", "Usar como padrão"],
  madeDefault: [
    "Mail that names no sender now comes from this address.",
    "As mensagens sem remetente indicado saem agora deste endereço.",
  ],
  remove: ["Remove", "Remover"],
  removeConfirm: (address: string) => [
    `Remove ${address}? Mail no longer comes from it.`,
    `Remover ${address}? As mensagens deixam de sair dele.`,
  ],
  removed: ["The address was removed.", "O endereço foi removido."],
  add: ["Add an address", "Adicionar um endereço"],
  addIt: ["Add", "Adicionar"],
  senderName: ["Name", "Nome"],
  senderNameHint: [
    "What mail programs show. Empty: the product name.",
    "O que os programas de e-mail mostram. Vazio: o nome do produto.",
  ],
  added: ["The address was added. Now prove it.", "O endereço foi adicionado. Agora comprove-o."],
  empty: ["No sender addresses", "Sem endereços de remetente"],
  emptyText: ["Mail comes from the address of the service.", "As mensagens saem do endereço do serviço."],
});

/** How a sender is proved, and its state. */
export const proofLabels = {
  en: { Dns: "DNS record", Mail: "Mailed link" },
  pt: { Dns: "Registro DNS", Mail: "Link enviado" },
};
