//! The keys of a cluster, stored in its data directory so that tokens, certificates and kubeconfigs remain valid after a restart.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use kubewright_kube_apiserver::ServiceAccountKeys;

use crate::{CertificateAuthority, Error, Tokens, write_secret_file};

/// The folder of the keys in a data directory.
const FOLDER: &str = "keys";

/// The largest file that is read.
const MAX_BYTES: u64 = 1 << 20;

/// The keys of a data directory. Each is generated on first use.
pub(crate) struct KeptKeys {
    folder: PathBuf,
}

impl KeptKeys {
    /// Returns the keys of a data directory.
    pub(crate) fn of(data_dir: &Path) -> Result<Self, Error> {
        let folder = data_dir.join(FOLDER);
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        let created = builder.create(&folder);
        created.map_err(|source| failed(&folder, source))?;
        Ok(Self { folder })
    }

    /// Returns a certificate authority: `NAME.crt` and `NAME.key`.
    pub(crate) fn authority(
        &self,
        name: &str,
        common_name: &str,
    ) -> Result<CertificateAuthority, Error> {
        let [certificate, key] = ["crt", "key"].map(|end| format!("{name}.{end}"));
        if let (Some(certificate), Some(key)) = (self.read(&certificate)?, self.read(&key)?) {
            let authority = CertificateAuthority::from_pem(&certificate, &key);
            return authority.map_err(|error| self.invalid(name, error));
        }
        let authority = CertificateAuthority::generate(common_name, SystemTime::now())?;
        // The certificate is written last: if it is missing, both are generated again.
        self.write(&key, authority.key_pem())?;
        self.write(&certificate, authority.certificate_pem())?;
        Ok(authority)
    }

    /// Returns the keys of service account tokens: `sa.key`.
    pub(crate) fn service_accounts(&self) -> Result<ServiceAccountKeys, Error> {
        if let Some(pem) = self.read("sa.key")? {
            let keys = ServiceAccountKeys::from_pem(pem.as_bytes());
            return keys.map_err(|error| self.invalid("sa.key", error));
        }
        let keys = ServiceAccountKeys::generate();
        if let Some(pem) = keys.signing_key_pem() {
            self.write("sa.key", &pem)?;
        }
        Ok(keys)
    }

    /// Returns the token of the administrator: `tokens.csv`, in the format of kube-apiserver's token file.
    pub(crate) fn tokens(&self) -> Result<Tokens, Error> {
        if let Some(csv) = self.read("tokens.csv")? {
            let tokens = Tokens::parse(&csv);
            return tokens.map_err(|error| self.invalid("tokens.csv", error));
        }
        let tokens = Tokens::generate();
        let line = format!("{},admin,admin,\"system:masters\"\n", tokens.first());
        self.write("tokens.csv", &line)?;
        Ok(tokens)
    }

    fn read(&self, name: &str) -> Result<Option<String>, Error> {
        let path = self.folder.join(name);
        match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(&path, error)),
            Ok(metadata) if metadata.len() > MAX_BYTES => {
                return Err(self.invalid(name, "it is too large"));
            }
            Ok(_) => {}
        }
        let read = fs::read_to_string(&path);
        read.map(Some).map_err(|source| failed(&path, source))
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Error> {
        let path = self.folder.join(name);
        let written = write_secret_file(&path, text);
        // The directory entry must survive a power failure, as the objects that rely on the key do.
        let synced = written.and_then(|()| {
            fs::File::open(&path)?.sync_all()?;
            #[cfg(unix)]
            fs::File::open(&self.folder)?.sync_all()?;
            Ok(())
        });
        synced.map_err(|source| failed(&path, source))
    }

    fn invalid(&self, name: &str, error: impl std::fmt::Display) -> Error {
        Error::Key {
            path: self.folder.join(name),
            reason: error.to_string(),
        }
    }
}

fn failed(path: &Path, source: io::Error) -> Error {
    Error::Key {
        path: path.to_owned(),
        reason: source.to_string(),
    }
}
