import { sectionTexts } from "../shared/labels.ts";

export const accountTexts = sectionTexts({
  signIn: ["Sign in", "Entrar"],
  intro: ["Steward operator console", "Console de operação do Steward"],
  signInBy: (provider: string) => [`Continue with ${provider}`, `Continuar com ${provider}`],
  signedInByCompany: [
    "You signed in with your company. Your password, email and second factors need a sign-in of your own.",
    "Entrou com a sua empresa. A sua senha, o e-mail e os segundos fatores exigem um login próprio.",
  ],
  company: ["Sign in with your company", "Entrar com a sua empresa"],
  companyText: [
    "Enter your work email. You go on at your company's own sign-in.",
    "Informe o e-mail do trabalho. Você continua no login da própria empresa.",
  ],
  noCompany: [
    "No company sign-in is set up for this email. Sign in with your password.",
    "Não há login de empresa configurado para este e-mail. Entre com a sua senha.",
  ],
  usePassword: ["Use a password", "Usar uma senha"],
  forgot: ["Forgot your password?", "Esqueceu a senha?"],
  forgotText: [
    "Enter your email. If it belongs to an account, we send a link to set a new password.",
    "Informe seu e-mail. Se pertencer a uma conta, enviamos um link para definir uma nova senha.",
  ],
  register: ["Create an account", "Criar uma conta"],
  registerText: [
    "Enter your email. If it may have an account here, you get a link that creates it.",
    "Digite seu e-mail. Se ele puder ter uma conta aqui, você recebe um link que a cria.",
  ],
  registrationSent: [
    "We have sent a link if this email may have an account here. It works for 30 minutes.",
    "Enviamos um link, se este e-mail puder ter uma conta aqui. Ele funciona por 30 minutos.",
  ],
  sendLink: ["Send the link", "Enviar o link"],
  linkSent: [
    "If the email belongs to an account, a link was sent to it.",
    "Se o e-mail pertencer a uma conta, um link foi enviado.",
  ],
  profileSaved: ["Your profile was saved.", "O seu perfil foi salvo."],
  changePassword: ["Change password", "Alterar a senha"],
  currentPassword: ["Current password", "Senha atual"],
  newPassword: ["New password", "Nova senha"],
  passwordHint: [
    "12 to 128 characters. No common password, not made of your name or email.",
    "12 a 128 caracteres. Nenhuma senha comum, nem feita do seu nome ou e-mail.",
  ],
  passwordChanged: [
    "Your password was changed. Your other sessions have ended.",
    "Sua senha foi alterada. Suas outras sessões terminaram.",
  ],
  changeEmail: ["Change email", "Alterar o e-mail"],
  newEmail: ["New email", "Novo e-mail"],
  emailHint: [
    "We send a link to the new email. It works for 30 minutes.",
    "Enviamos um link para o novo e-mail. Funciona durante 30 minutos.",
  ],
  emailRequested: [
    "If the email is free, a link was sent to it. Your email changes when you open the link.",
    "Se o e-mail estiver livre, um link foi enviado. Seu e-mail muda quando abrir o link.",
  ],
  sessionsCaption: ["Open sessions of your account", "Sessões abertas da sua conta"],
  permissions: ["Your permissions", "Suas permissões"],
  permissionsCaption: ["Permissions you hold in this tenant", "Permissões que tem neste inquilino"],
  noPermissions: ["You hold no permissions in this tenant.", "Você não tem permissões neste inquilino."],
});

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
