// Calls of the system under names of their own: types that have members of the same name cannot call them by theirs,
// and the module that would have to stand in front of it is another one on each system.

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// Opens the file at `path`; who makes one gives it to the user alone. Below 0 if that failed.
func systemOpen(_ path: String, _ flags: Int32) -> Int32 { open(path, flags, 0o600) }

/// Closes a descriptor. Not 0 if that failed.
@discardableResult
func systemClose(_ descriptor: Int32) -> Int32 {
  assert(descriptor >= 0, "what is closed was never opened")
  return close(descriptor)
}

/// Gives the file at `path` a second name. Not 0 if that failed.
func systemLink(_ path: String, _ newPath: String) -> Int32 { link(path, newPath) }

/// Gives the file at `path` another name. Not 0 if that failed.
func systemRename(_ path: String, _ newPath: String) -> Int32 { rename(path, newPath) }

/// Takes a name from its file. Not 0 if that failed.
func systemUnlink(_ path: String) -> Int32 { unlink(path) }
