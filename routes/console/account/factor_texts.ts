import { sectionTexts } from "../shared/labels.ts";

export const factorTexts = sectionTexts({
  security: ["Sign-in security", "Segurança do login"],
  securityHint: [
    "Authenticator app, passkeys and recovery codes",
    "Aplicativo de autenticação, chaves de acesso e códigos de recuperação",
  ],
  required: ["A second factor is required here", "Aqui é obrigatório um segundo fator"],
  requiredText: [
    "Add an authenticator app or a passkey to continue.",
    "Adicione um aplicativo de autenticação ou uma chave de acesso para continuar.",
  ],
  requiredProve: [
    "Confirm it is you with the factor you already have.",
    "Confirme sua identidade com o fator que já tem.",
  ],
  confirmIdentity: ["Confirm it is you", "Confirme a sua identidade"],
  stepUpText: [
    "This needs a recent sign-in. Confirm it is you; then what you began continues.",
    "Isso exige um login recente. Confirme sua identidade; depois continua o que começou.",
  ],
  factors: ["Your second factors", "Seus segundos fatores"],
  noFactors: [
    "You have no second factor. With one, a stolen password is not enough to sign in.",
    "Você não tem um segundo fator. Com um, uma senha roubada não basta para entrar.",
  ],
  totp: ["Authenticator app", "Aplicativo de autenticação"],
  passkey: ["Passkey", "Chave de acesso"],
  waiting: ["not confirmed", "não confirmado"],
  added: ["Added", "Adicionado"],
  lastUsed: ["Last used", "Último uso"],
  addApp: ["Add an authenticator app", "Adicionar um aplicativo de autenticação"],
  addPasskey: ["Add a passkey", "Adicionar uma chave de acesso"],
  appText: [
    "Scan the code with an authenticator app, then enter the six digits it shows.",
    "Leia o código com um aplicativo de autenticação e digite os seis dígitos que ele mostra.",
  ],
  qrLabel: ["QR code for the authenticator app", "Código QR para o aplicativo de autenticação"],
  secretLabel: ["Or enter this key in the app", "Ou digite esta chave no aplicativo"],
  code: ["Code of the authenticator app", "Código do aplicativo de autenticação"],
  recoveryCode: ["Recovery code", "Código de recuperação"],
  passkeyText: [
    "A passkey is kept by your device or password manager. It signs you in without a password.",
    "Uma chave de acesso fica salva no seu dispositivo ou gerenciador de senhas. Com ela, você entra sem senha.",
  ],
  passkeyName: ["Name of the passkey", "Nome da chave de acesso"],
  passkeyNameHint: [
    "So that you recognise it, such as the name of the device",
    "Para a reconhecer, por exemplo o nome do dispositivo",
  ],
  createPasskey: ["Create the passkey", "Criar a chave de acesso"],
  usePasskey: ["Use a passkey", "Usar uma chave de acesso"],
  signInByPasskey: ["Sign in with a passkey", "Entrar com uma chave de acesso"],
  passkeyFailed: [
    "The passkey was not used. Try again, or use another way.",
    "A chave de acesso não foi usada. Tente de novo ou use outra forma.",
  ],
  noPasskeys: ["This browser does not support passkeys.", "Este navegador não suporta chaves de acesso."],
  recoveryCodes: ["Recovery codes", "Códigos de recuperação"],
  codesLeft: (left: number) => [
    left === 1 ? "1 code is left." : `${left} codes are left.`,
    left === 1 ? "Resta 1 código." : `Restam ${left} códigos.`,
  ],
  newCodes: ["Make new codes", "Criar novos códigos"],
  newCodesConfirm: [
    "Make new recovery codes? The old ones will no longer work.",
    "Criar novos códigos de recuperação? Os antigos deixam de funcionar.",
  ],
  codesOnce: [
    "These codes are shown only now. Keep them in a safe place. Each signs you in once if you lose your other factors.",
    "Estes códigos só são mostrados agora. Guarde-os em um lugar seguro. Cada um entra uma vez, se perder os outros fatores.",
  ],
  passkeyAdded: ["The passkey was added.", "A chave de acesso foi adicionada."],
  removeTitle: (name: string) => [`Remove “${name}”`, `Remover “${name}”`],
  removeConfirm: [
    "Remove this factor? It can no longer sign you in.",
    "Remover este fator? Ele não servirá mais para entrar.",
  ],
  factorRemoved: ["The factor was removed.", "O fator foi removido."],
  secondFactorText: ["Confirm the sign-in with your second factor.", "Confirme o login com o segundo fator."],
  otherWay: ["Use a recovery code", "Usar um código de recuperação"],
  startAgain: ["Start again", "Começar de novo"],
});
