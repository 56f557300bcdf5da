//! `sysctl`: kernel parameters.

use super::Call;
use crate::{files::absolute, pod::sysctl_path};

impl Call<'_> {
    pub(super) async fn sysctl(&mut self) -> i32 {
        let (options, names) = self.options("");
        let has = |wanted: char| options.iter().any(|(letter, _)| *letter == wanted);
        let mut code = 0;
        for name in &names {
            if let Some((name, _)) = name.split_once('=') {
                let text = format!("error setting key '{name}': Read-only file system");
                code = self.fail(1, &text).await;
                continue;
            }
            let path = absolute("/", &sysctl_path(name));
            let Ok(value) = self.shell.world.files.read(&path) else {
                let text = format!("error: '{name}' is an unknown key");
                code = self.fail(1, &text).await;
                continue;
            };
            let value = String::from_utf8_lossy(&value);
            let line = match has('n') {
                true => value.into_owned(),
                false => format!("{} = {value}", name.replace('/', ".")),
            };
            code = self.print(line).await.max(code);
        }
        code
    }
}
