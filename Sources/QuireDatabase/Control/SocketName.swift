// The file of a control socket: made, replaced if nobody listens any more, and taken away.

internal import QuireStorage

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// The name of a socket that this process listens to (hazard D16).
struct SocketName: Sendable {
  let path: String
  /// Which file it is: a socket that another process has put in its place is that one's.
  private let identity: FileIdentity
  /// The process that made it. A child that was forked has a copy of this, and not the socket.
  private let owner = getpid()

  /// Whether this is the process that made it.
  var isOurs: Bool { owner == getpid() }

  /// Makes the name, and the socket that goes by it, to which nobody can connect before it listens.
  static func take(_ path: String) throws(DatabaseError) -> (SocketName, LocalSocket) {
    let count = path.utf8.count
    guard count <= LocalSocket.pathByteCount, count > 0, !path.utf8.contains(0) else {
      throw DatabaseError(
        .invalidOption,
        """
        The path of a control socket may have \(LocalSocket.pathByteCount) bytes, and this one has \(count). Give a \
        shorter one: openControl(at:).
        """, path: path)
    }
    var attempts = 2
    while true {
      do throws(SystemError) {
        let socket = try LocalSocket.bound(to: path)
        guard let identity = look(path)?.identity else { throw SystemError(code: ENOENT, call: "lstat") }
        return (SocketName(path: path, identity: identity), socket)
      } catch {
        guard error.code == EADDRINUSE, attempts > 0 else { throw failed(error, path) }
        attempts -= 1
        try removeStale(path)
      }
    }
  }

  private init(path: String, identity: FileIdentity) {
    self.path = path
    self.identity = identity
  }

  /// Removes what the process has left that listened there, if it is a socket, and nobody listens.
  ///
  /// Two that do so at one moment for one path could take away each other's: those of one database cannot, as only one
  /// has it open.
  private static func removeStale(_ path: String) throws(DatabaseError) {
    guard let found = look(path) else { return }
    guard found.isSocket else {
      throw DatabaseError(
        .alreadyExists, "There is a file at the path of the control socket, and it is no socket. Give another path.",
        path: path)
    }
    do throws(SystemError) {
      _ = try LocalSocket.connected(to: path)
    } catch {
      if error.code == ENOENT { return }
      if error.code == ECONNREFUSED {
        guard unsafe unlink(path) == 0 || errno == ENOENT else {
          throw failed(SystemError(code: errno, call: "unlink"), path)
        }
        return
      }
    }
    throw DatabaseError(
      .alreadyExists, "Somebody listens at the path of the control socket. Close that one, or give another path.",
      path: path)
  }

  private static func failed(_ error: SystemError, _ path: String) -> DatabaseError {
    DatabaseError(
      .inputOutput, "The control socket cannot be made. See that its folder is there and may be written.", path: path,
      cause: error)
  }

  /// Takes the name away, unless it is somebody else's by now.
  func remove() {
    guard isOurs, Self.look(path)?.identity == identity else { return }
    _ = unsafe unlink(path)
  }

  private static func look(_ path: String) -> (identity: FileIdentity, isSocket: Bool)? {
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else { return nil }
    let identity = FileIdentity(
      device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(truncatingIfNeeded: status.st_ino))
    return (identity, status.st_mode & S_IFMT == S_IFSOCK)
  }
}
