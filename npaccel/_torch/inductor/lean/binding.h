// What Python calls. Of Python's headers, which take longer to read than a kernel, it's what no
// release has changed; builds without a global lock have other objects.
using ssize_t = __PTRDIFF_TYPE__;
constexpr int METH_FASTCALL = 0x80;
extern "C" {
struct PyTypeObject;
struct PyObject { ssize_t references; PyTypeObject* type; };
struct PyMethodDef {
    const char* name;
    PyObject* (*function)(PyObject*, PyObject* const*, ssize_t);
    int flags;
    const char* text;
};
extern PyObject _Py_NoneStruct;
extern PyObject* PyExc_RuntimeError;
extern PyObject* PyExc_TypeError;
void Py_IncRef(PyObject*);
void Py_DecRef(PyObject*);
double PyFloat_AsDouble(PyObject*);
long long PyLong_AsLongLong(PyObject*);
int PyType_IsSubtype(PyTypeObject*, PyTypeObject*);
PyObject* PyCFunction_NewEx(PyMethodDef*, PyObject*, PyObject*);
PyObject* PyErr_Format(PyObject*, const char*, ...);
PyObject* PyErr_NoMemory();
PyObject* PyErr_Occurred();
void PyErr_SetString(PyObject*, const char*);
PyObject* PyImport_ImportModule(const char*);
PyObject* PyObject_GetAttrString(PyObject*, const char*);
PyObject* PyTuple_New(ssize_t);
int PyTuple_SetItem(PyObject*, ssize_t, PyObject*);
}

namespace {
struct Array { PyObject head; void* data; };  // as NumPy's begin, in each of its versions
PyTypeObject* array_type;
void* (*data_of_tensor)(PyObject*);

inline void* data_of(PyObject* value)
{
    if (value->type == array_type || PyType_IsSubtype(value->type, array_type))
        return reinterpret_cast<Array*>(value)->data;
    return data_of_tensor(value);
}
inline void check_number(bool is_doubtful)
{
    if (is_doubtful && PyErr_Occurred()) throw Error{""};
}
inline double floating(PyObject* value)
{
    const double number = PyFloat_AsDouble(value);
    check_number(number == -1);
    return number;
}
inline int64_t integer(PyObject* value)
{
    const int64_t number = PyLong_AsLongLong(value);
    check_number(number == -1);
    return number;
}
template <typename F> inline PyObject* called(ssize_t given, ssize_t wanted, F kernel)
{
    if (given != wanted)
        return PyErr_Format(PyExc_TypeError, "%zd arguments for a kernel of %zd", given, wanted);
    try {
        kernel();
    } catch (const Error& error) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, error.text);
        return nullptr;
    } catch (...) {  // of memory
        return PyErr_NoMemory();
    }
    Py_IncRef(&_Py_NoneStruct);
    return &_Py_NoneStruct;
}
METHODS
}

extern "C" __attribute__((visibility("default"), cold))
PyObject* MAKER(PyObject* owner, void* address, void* alone)
{
    SHARE_ALONE
    data_of_tensor = reinterpret_cast<void* (*)(PyObject*)>(address);
    PyObject* numpy = PyImport_ImportModule("numpy");
    if (numpy == nullptr) return nullptr;
    PyObject* type = PyObject_GetAttrString(numpy, "ndarray");
    Py_DecRef(numpy);
    if (type == nullptr) return nullptr;
    array_type = reinterpret_cast<PyTypeObject*>(type);
    Py_DecRef(type);  // NumPy is never unloaded.
    constexpr ssize_t count = sizeof(methods) / sizeof(*methods);
    PyObject* made = PyTuple_New(count);
    for (ssize_t i = 0; made != nullptr && i < count; i++) {
        PyObject* kernel = PyCFunction_NewEx(&methods[i], owner, nullptr);
        if (kernel == nullptr || PyTuple_SetItem(made, i, kernel) != 0) {
            Py_DecRef(made);
            return nullptr;
        }
    }
    return made;
}
