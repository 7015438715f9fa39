-- The shipped mails become fragments: the default layout surrounds them with the logo, colours and footer of the tenant.
update notification_templates set version = version + 1, updated_at = now(), html_body_template = replace(
    regexp_replace(
      regexp_replace(html_body_template,
        '^.*line-height:1\.5;color:#1c2430">\n(.*)\n</td></tr></table>\n</td></tr></table>.*$', '\1'),
      '<table role="presentation"[^\n]*\n<td bgcolor="#1f4fd8"[^>]*><a href="([^"]*)" style="[^"]*">([^<]*)</a></td>\n</tr></table>',
      '<p><a class="button" href="\1">\2</a></p>', 'g'),
    'class="link" style="color:#1f4fd8"', 'class="link"')
where tenant_id is null and html_body_template like '<!doctype%<td class="inside"%';
