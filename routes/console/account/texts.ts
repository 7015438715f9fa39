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
