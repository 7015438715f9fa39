// A few rules for content that should not be in an upload. They are for trials: they detect some common kinds of attack,
// but no specific malware. In production use ClamAV, or your own maintained rule set.

rule Php_Web_Shell
{
  meta:
    description = "PHP that runs code or commands from a request"

  strings:
    $open = /<\?(php|=)/ nocase
    $run = /\b(eval|assert|system|passthru|shell_exec|popen|proc_open)\s{0,20}\(\s{0,20}((base64_decode|gzinflate|str_rot13|stripslashes|urldecode)\s{0,20}\(\s{0,20}){0,4}\$_(GET|POST|REQUEST|COOKIE|SERVER)\b/ nocase

  condition:
    $open and $run
}

rule Jsp_Web_Shell
{
  meta:
    description = "A Java server page that runs a command from a request"

  strings:
    $open = "<%"
    $run = /\.exec\s{0,20}\(\s{0,20}request\s{0,20}\.\s{0,20}getParameter\s{0,20}\(/

  condition:
    $open and $run
}

rule Pdf_Starts_Program
{
  meta:
    description = "A PDF whose launch action starts a command interpreter"

  strings:
    $pdf = "%PDF-"
    $launch = /\/(S\s{0,20}\/Launch|Launch)\b/
    $program = /\/F\s{0,20}\(\s{0,20}([^)]{0,200}\\)?(cmd|powershell|mshta|wscript|cscript|rundll32)(\.exe)?\s{0,20}\)/ nocase

  condition:
    $pdf in (0..1024) and $launch and $program
}

rule Office_Dde_Starts_Program
{
  meta:
    description = "A field of an Office document that starts a command interpreter by DDE"

  strings:
    $part = /<(w|x|main):?[a-z]*\b[^>]{0,300}schemas\.openxmlformats\.org/ nocase
    $run = /\bDDE(AUTO)?\b[^<]{0,20}[^<]{0,200}(cmd|powershell|mshta)(\.exe)?\b/ nocase

  condition:
    $part and $run
}

rule Rtf_Equation_Editor
{
  meta:
    description = "An RTF document that embeds the old equation editor, which has a buffer overflow (CVE-2017-11882)"

  strings:
    $data = "\\objdata" nocase
    $class = "0002ce020000000000c000000000000046" nocase
    $name = "4571756174696f6e2e33" nocase // Equation.3

  condition:
    uint32be(0) == 0x7b5c7274 and $data and any of ($class, $name)
}

rule Shortcut_Starts_Script
{
  meta:
    description = "A Windows shortcut whose arguments start a script host"

  strings:
    $shell = /p\x00o\x00w\x00e\x00r\x00s\x00h\x00e\x00l\x00l\x00|m\x00s\x00h\x00t\x00a\x00|c\x00s\x00c\x00r\x00i\x00p\x00t\x00|w\x00s\x00c\x00r\x00i\x00p\x00t\x00/ nocase

  condition:
    filesize < 1MB and uint32be(0) == 0x4c000000 and uint32be(4) == 0x01140200 and $shell
}

rule Encoded_Powershell_Download
{
  meta:
    description = "A script that downloads and runs code by PowerShell in a hidden window"

  strings:
    $call = /powershell(\.exe)?\b[^\r\n]{0,200}-w(indowstyle)?\s{1,5}hidden/ nocase
    $load = /\.Download(String|Data|File)\s{0,5}\(/ nocase
    $run = /\b(iex|invoke-expression|start-process)\b/ nocase

  condition:
    all of them
}
