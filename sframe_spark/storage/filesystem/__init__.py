"""Operations on local and remote files: resolving paths, listing, reading, writing, recognising formats, and translating errors."""
